from . import engine_race as engine_race
from .exporter import export as export
from .exporter import export_backend as export_backend
from .parity import require_packages as require_packages
from .parity import versions as versions
from .rerankers import calibrate as calibrate
from .rerankers import export_reranker as export_reranker
from .rerankers import is_reranker as is_reranker

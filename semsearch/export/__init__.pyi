from .exporter import export as export
from .exporter import export_backend as export_backend
from .requirements import require_packages as require_packages
from .requirements import versions as versions

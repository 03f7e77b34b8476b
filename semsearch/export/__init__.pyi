from .exporter import export as export
from .exporter import export_engine as export_engine
from .requirements import require_packages as require_packages
from .requirements import versions as versions

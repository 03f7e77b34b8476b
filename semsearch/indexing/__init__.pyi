from . import file_states as file_states
from .dry_run import DryRunWriter as DryRunWriter
from .writer import IndexWriter as IndexWriter

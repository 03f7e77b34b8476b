from . import examples as examples
from . import filter_parser as filter_parser
from . import filter_text as filter_text
from . import passage_patterns as passage_patterns
from . import reranking as reranking
from . import snippets as snippets
from . import sql_functions as sql_functions
from . import word_evidence as word_evidence

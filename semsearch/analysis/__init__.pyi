from .analysis import Analysis as Analysis
from .distinctive_words import group_names as group_names
from .timeline import day_of as day_of
from .topic_tree import NestedTopic as NestedTopic
from .topic_tree import nested_topics as nested_topics

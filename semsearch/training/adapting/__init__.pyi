from .run import HYPERPARAMETERS as HYPERPARAMETERS
from .run import Adaptation as Adaptation
from .run import Plan as Plan

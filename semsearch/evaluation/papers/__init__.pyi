from . import attribution as attribution
from . import figures as figures
from . import fitting as fitting
from . import layer_scores as layer_scores
from . import transfer as transfer

"""Reading in processes of their own: a file that hangs, explodes or crashes its parser costs that file alone."""

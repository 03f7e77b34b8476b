"""`doctor`: what this installation is made of and what is broken."""

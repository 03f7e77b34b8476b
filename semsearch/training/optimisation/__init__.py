"""What a training step is made of: gradients, schedule, averaged weights, random numbers."""

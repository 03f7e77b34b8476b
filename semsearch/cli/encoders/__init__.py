"""Commands about encoders: embed, sts, export, models, templates."""

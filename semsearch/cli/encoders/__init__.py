"""Commands about encoders: embed, export, models, templates."""

"""Facts about languages: function words, and scripts without spaces between words."""

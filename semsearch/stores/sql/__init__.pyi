from . import word_forms as word_forms

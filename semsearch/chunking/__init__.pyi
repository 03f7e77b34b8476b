from .splitter import Splitter as Splitter

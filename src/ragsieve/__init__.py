"""ragsieve sieves the noise out of retrieved documents before a language model reads them."""

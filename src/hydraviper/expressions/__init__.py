"""One grammar, one parser and one meaning for what people write about features."""

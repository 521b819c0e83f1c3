"""The steps of Algorithm 1, one file each."""

"""What is to be computed: params.yaml read and checked, plans written, hours forecast."""

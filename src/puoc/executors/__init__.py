"""Where fits are computed: in worker processes of this machine."""

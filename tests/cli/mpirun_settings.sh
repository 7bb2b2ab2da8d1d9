# Sourced: Open MPI for tests that run as root in a container, and quiet about what they end with.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_orte_abort_print_stack=0 OMPI_MCA_btl_vader_single_copy_mechanism=none

# Sourced, with a separate folder in $work: Open MPI for tests that run as root in a container, quiet about what
# they end with, and sharing no session folder with an mpirun of a different test.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_orte_abort_print_stack=0 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_orte_tmpdir_base=$work

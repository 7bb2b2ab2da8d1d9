# Writes OUTPUT: the manual page, as CLI prints it.
execute_process(COMMAND ${CLI} --roff OUTPUT_FILE ${OUTPUT} COMMAND_ERROR_IS_FATAL ANY)

#pragma once

/* A file beside the writer's socket, with the socket's name and this suffix. A process that may not
 * even create a socket opens it to say so: opening files is safe, because the loader has done so. */
#define ULPSCOPE_SHUT_OUT_SUFFIX ".shut-out"

#pragma once

/* A file beside the writer's socket, named as that with this behind it. A process that may not even
 * make a socket opens it to say so: the loader has opened files before, a call that is safe. */
#define ULPSCOPE_SHUT_OUT_SUFFIX ".shut-out"

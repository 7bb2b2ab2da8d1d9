// Says what random_run does for a seed and a mutation, without LibTorch.
//
//   random_plan --seed S [--mutate M]          the program, one instruction a line
//   random_plan --seed S [--mutate M] --json   its kind and its mutation
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plan.hpp"

int main(int argc, char** argv) {
  unsigned long long seed = 1, number = 0;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0)
      json = true;
    else if (i + 1 < argc && std::strcmp(argv[i], "--seed") == 0)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else if (i + 1 < argc && std::strcmp(argv[i], "--mutate") == 0)
      number = std::strtoull(argv[++i], nullptr, 10);
    else
      return std::fprintf(stderr, "random_plan: unknown argument %s\n", argv[i]), 2;
  }
  judge::Program program = judge::make_program(seed);
  const judge::Mutation mutation = judge::mutate(program, number);
  if (json) {
    std::printf(
        "{\"kind\": \"%s\", \"ending\": \"%s\", \"workers\": %zu, \"mutation\": \"%s\", "
        "\"place\": \"%s\", \"harmless\": %s, \"dies\": %s}\n",
        program.kind.c_str(), judge::name_of(program.ending), program.workers.size(),
        mutation.kind.c_str(), mutation.place.c_str(), mutation.harmless ? "true" : "false",
        judge::dies(program, mutation.worker) ? "true" : "false");
    return 0;
  }
  std::printf("%s%s%s%s\n", judge::describe(program).c_str(), mutation.kind.c_str(),
              mutation.place.empty() ? "" : ": ", mutation.place.c_str());
}

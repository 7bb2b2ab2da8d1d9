// Compares two dumps and prints what was found: compare_dumps REFERENCE CANDIDATE
#include <iostream>

#include "ulpscope/compare.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  const auto reference = ulpscope::open_dump(argv[1]);
  const auto candidate = ulpscope::open_dump(argv[2]);
  const ulpscope::Report report = ulpscope::compare(*reference, *candidate);
  std::cout << report.summary << '\n';
  for (const ulpscope::Finding& finding : report.findings) {
    std::cout << name(finding.kind) << ": " << finding.op << " in " << finding.module.value_or("?")
              << " of " << finding.root << '\n';
    for (const ulpscope::ArgumentReport& argument : finding.arguments)
      std::cout << "  " << argument.name << ": " << argument.reference.value_or("none") << " and "
                << argument.candidate.value_or("none") << '\n';
    for (const ulpscope::TensorReport& tensor : finding.tensors)
      if (!tensor.equal && tensor.difference)
        std::cout << "  " << tensor.name << ": " << tensor.difference->differing << " of "
                  << tensor.difference->elements << " elements differ, by "
                  << tensor.difference->ulp_max << " ULP at most\n";
  }
  return report.verdict == ulpscope::Verdict::identical ? 0 : 1;
} catch (const ulpscope::Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}

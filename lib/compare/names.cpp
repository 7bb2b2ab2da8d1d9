#include <string_view>

#include "ulpscope/report.hpp"

namespace ulpscope {

std::string_view name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::identical:
      return "identical";
    case Verdict::within:
      return "within";
    case Verdict::diverged:
      return "diverged";
    case Verdict::inconclusive:
      return "inconclusive";
  }
  return "";
}

std::string_view name(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::origin:
      return "origin";
    case FindingKind::arguments:
      return "arguments";
    case FindingKind::sequence:
      return "sequence";
    case FindingKind::rng:
      return "rng";
    case FindingKind::data:
      return "data";
    case FindingKind::parameter:
      return "parameter";
    case FindingKind::write:
      return "write";
    case FindingKind::metadata:
      return "metadata";
  }
  return "";
}

std::string_view name(Confidence confidence) noexcept {
  switch (confidence) {
    case Confidence::certain:
      return "certain";
    case Confidence::likely:
      return "likely";
    case Confidence::possible:
      return "possible";
  }
  return "";
}

}  // namespace ulpscope

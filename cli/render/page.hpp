#pragma once

#include <string>
#include <string_view>

#include "cli/term/terminal.hpp"

namespace ulpscope::cli {

/// A text report as it grows, line by line.
class Page {
 public:
  explicit Page(const Terminal& terminal) : terminal_(terminal) {}

  [[nodiscard]] const Terminal& terminal() const { return terminal_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string paint(Ink ink, std::string_view text) const {
    return terminal_.paint(ink, text);
  }

  void line(std::string_view text = {});

  /// "label      text", wrapped under itself.
  void labelled(std::string_view label, std::string_view text, Ink ink = Ink::plain);

  /// A line after the frame's gutter, and the columns available for it.
  void framed(std::string_view text = {});
  [[nodiscard]] std::size_t framed_width() const;

  /// "label  text" after the gutter, wrapped under itself.
  void framed_labelled(std::string_view label, std::string_view text);

  /// "   = label: text", wrapped under itself.
  void remark(Ink ink, std::string_view label, std::string_view text);

  /// "         label    text" under a remark, wrapped under itself unless it is a command, which
  /// must stay in one piece.
  enum class Wrap : bool { no, yes };
  void detail(std::string_view label, std::string_view text, Wrap wrap = Wrap::yes);

 private:
  Terminal terminal_;
  std::string text_;
};

inline constexpr std::size_t kLabelWidth = 11;

}  // namespace ulpscope::cli

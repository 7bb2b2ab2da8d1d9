#pragma once

#include <cstdint>
#include <ostream>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ulpscope::cli {

/// Where something is drawn, in pixels from the upper left corner.
struct Area {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;

  [[nodiscard]] double right() const { return left + width; }
  [[nodiscard]] double bottom() const { return top + height; }
};

enum class Anchor : std::uint8_t { begin, middle, end };

/// An SVG document as it is drawn. Texts must be escaped().
class Drawing {
 public:
  explicit Drawing(double width);

  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::begin,
            bool heading = false);
  void rule(double x1, double y1, double x2, double y2);
  void bar(const Area& area);
  /// A line through points, and a mark at each of them if there are few.
  void curve(const std::vector<std::pair<double, double>>& points);

  /// Ends it at that height.
  void save(double height, std::ostream& out);

 private:
  pugi::xml_node add(const char* element);

  double width_;
  pugi::xml_document document_;
  pugi::xml_node svg_;
};

}  // namespace ulpscope::cli

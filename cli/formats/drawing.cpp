#include "cli/formats/drawing.hpp"

#include <fmt/format.h>

namespace ulpscope::cli {
namespace {

// In between, so that they stand out on white as well as on dark.
constexpr const char* kTextColor = "#768390";
constexpr const char* kRuleColor = "#76839066";
constexpr const char* kBarColor = "#d97706";
constexpr const char* kCurveColor = "#3b82f6";
constexpr std::size_t kMostMarks = 60;

void put(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name) = value.c_str();
}

void put(pugi::xml_node node, const char* name, double value) {
  put(node, name, fmt::format("{:.1f}", value));
}

}  // namespace

Drawing::Drawing(double width) : width_(width), svg_(document_.append_child("svg")) {
  put(svg_, "xmlns", std::string("http://www.w3.org/2000/svg"));
  put(svg_, "font-family", std::string("system-ui, sans-serif"));
  put(svg_, "font-size", std::string("12"));
}

pugi::xml_node Drawing::add(const char* element) { return svg_.append_child(element); }

void Drawing::text(double x, double y, std::string_view text, Anchor anchor, bool heading) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  pugi::xml_node node = add("text");
  put(node, "x", x);
  put(node, "y", y);
  put(node, "fill", std::string(kTextColor));
  put(node, "text-anchor", std::string(kAnchors[static_cast<std::size_t>(anchor)]));
  if (heading) put(node, "font-weight", std::string("bold"));
  node.append_child(pugi::node_pcdata).set_value(std::string(text).c_str());
}

void Drawing::rule(double x1, double y1, double x2, double y2) {
  pugi::xml_node node = add("line");
  put(node, "x1", x1);
  put(node, "y1", y1);
  put(node, "x2", x2);
  put(node, "y2", y2);
  put(node, "stroke", std::string(kRuleColor));
}

void Drawing::bar(const Area& area) {
  pugi::xml_node node = add("rect");
  put(node, "x", area.left);
  put(node, "y", area.top);
  put(node, "width", area.width);
  put(node, "height", area.height);
  put(node, "fill", std::string(kBarColor));
}

void Drawing::curve(const std::vector<std::pair<double, double>>& points) {
  std::string places;
  for (const auto& [x, y] : points) places += fmt::format("{:.1f},{:.1f} ", x, y);
  pugi::xml_node node = add("polyline");
  put(node, "points", places);
  put(node, "fill", std::string("none"));
  put(node, "stroke", std::string(kCurveColor));
  put(node, "stroke-width", std::string("2"));
  if (points.size() > kMostMarks) return;
  for (const auto& [x, y] : points) {
    pugi::xml_node mark = add("circle");
    put(mark, "cx", x);
    put(mark, "cy", y);
    put(mark, "r", std::string("3"));
    put(mark, "fill", std::string(kCurveColor));
  }
}

void Drawing::save(double height, std::ostream& out) {
  put(svg_, "width", width_);
  put(svg_, "height", height);
  put(svg_, "viewBox", fmt::format("0 0 {:.1f} {:.1f}", width_, height));
  document_.save(out, "  ", pugi::format_indent | pugi::format_no_declaration);
}

}  // namespace ulpscope::cli

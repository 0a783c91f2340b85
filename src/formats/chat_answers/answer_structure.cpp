#include "formats/chat_answers/answer_structure.h"

#include "base/error.h"

namespace attend {
namespace {

const Json kAnyText = {{"type", "any_text"}};

Json constant(const std::string& text) {
  return {{"type", "const_string"}, {"value", text}};
}
Json schema(const Json& schema) {
  return {{"type", "json_schema"}, {"json_schema", schema}};
}
Json tag(const std::string& begin, const Json& content, const std::string& end) {
  return {{"type", "tag"}, {"begin", begin}, {"content", content}, {"end", end}};
}
Json sequence(const Json& elements) {
  return {{"type", "sequence"}, {"elements", elements}};
}
Json one_of(const Json& elements) {
  return {{"type", "or"}, {"elements", elements}};
}
Json separated(const Json& tags, const std::string& separator, bool parallel) {
  return {{"type", "tags_with_separator"},
          {"tags", tags},
          {"separator", separator},
          {"at_least_one", true},
          {"stop_after_first", !parallel}};
}

// A call with these arguments. A number in it may be any.
Json call_tag(const CallFormat& format, const std::string& name, const Json& arguments) {
  const std::string begin = call_begin(format, name), end = call_end(format);
  if (!format.holds_arguments()) return tag(begin, kAnyText, end);
  if (!format.id_mark.empty()) {
    const Json id = {{"type", "regex"}, {"pattern", "[a-zA-Z0-9]{9}"}};
    const Json optional = {{"type", "optional"},
                           {"content", sequence({constant(std::string(format.id_mark)), id})}};
    return tag(begin.substr(0, begin.size() - format.separator.size()),
               sequence({optional, constant(std::string(format.separator)), arguments}), end);
  }
  const std::size_t number = begin.find(kNumber);
  if (number == begin.npos) return tag(begin, arguments, end);
  const Json digits = {{"type", "regex"}, {"pattern", "[0-9]{1,3}"}};
  return tag(begin.substr(0, number), sequence({digits, constant(begin.substr(number + 1)), arguments}), end);
}

// A tag for each tool. With headers two tags, because the name may come before the channel or after it.
Json call_tags(const CallFormat& format, const Json& tools) {
  Json tags = Json::array();
  for (const Json& tool : tools) {
    Json arguments = schema(tool_schema(tool));
    if (format.notation == CallNotation::tagged) arguments["style"] = format.tagged->style;
    const std::string name = tool_name(tool);
    if (format.has_headers) {
      tags.push_back(
          tag(fmt::format("<|channel|>commentary to=functions.{} <|constrain|>json<|message|>", name),
              arguments, ""));
      tags.push_back(
          tag(fmt::format(" to=functions.{}<|channel|>commentary json<|message|>", name), arguments, ""));
    } else {
      tags.push_back(call_tag(format, name, arguments));
    }
  }
  return tags;
}

// The calls of an answer, at least one.
Json calls(const CallFormat& format, const Json& tags, bool parallel) {
  if (format.is_list) {
    const std::string fence = format.fence.empty() ? "" : fmt::format(" {}\n", format.fence);
    return tag(fmt::format("{}{}{}", format.open, fence, format.list_open),
               separated(tags, std::string(format.list_separator), parallel),
               fmt::format("{}{}{}", format.list_close, fence.empty() ? "" : "\n", format.close));
  }
  if (!format.section_open.empty())
    return tag(std::string(format.section_open), separated(tags, "", parallel),
               std::string(format.section_close));
  const bool on_lines = format.separator.empty() && format.has_lines;
  return separated(tags, on_lines ? "\n" : "", parallel && format.may_repeat());
}

// Text in which a mark begins a call.
Json free_text(const CallFormat& call, const Json& tags, bool parallel) {
  const bool marked = !(call.is_bare && call.close.empty());
  const bool together = call.is_list || !call.section_open.empty();
  const std::string_view trigger = call.section_open.empty() ? call.open : call.section_open;
  return {{"type", "triggered_tags"},
          {"triggers", {marked ? std::string(trigger) : "{\"name\": \""}},
          {"tags", together ? Json::array({calls(call, tags, parallel)}) : tags},
          {"stop_after_first", !parallel}};
}

// The reasoning before everything else, if there may be any.
Json with_reasoning(const AnswerFormat& format, bool in_reasoning, const Json& rest) {
  const std::string open(format.reasoning.open), close(format.reasoning.close);
  if (open.empty()) return rest;
  const bool has_headers = format.calls->has_headers;
  const Json thought =
      tag(in_reasoning ? "" : open, kAnyText, close + (has_headers ? "<|start|>assistant" : ""));
  const Json space = {{"type", "regex"}, {"pattern", has_headers ? "" : "\\n{0,2}"}};
  if (in_reasoning) return sequence({thought, space, rest});
  return sequence(
      {{{"type", "optional"}, {"content", has_headers ? thought : sequence({thought, space})}}, rest});
}

}  // namespace

std::string tool_name(const Json& tool) {
  const Fields fields(tool.contains("function") ? tool.at("function") : tool, "a tool");
  return fields.text({"name"});
}

Json tool_schema(const Json& tool) {
  const Json& function = tool.contains("function") ? tool.at("function") : tool;
  const bool is_free = function.value("strict", Json()) == false;
  const Json parameters = function.value("parameters", Json());
  if (is_free) return {{"type", "object"}, {"additionalProperties", true}};
  if (parameters.is_null()) return {{"type", "object"}, {"properties", Json::object()}};
  return parameters;
}

Json answer_structure(const AnswerFormat& format, const Json& tools, const AnswerRules& rules) {
  const CallFormat& call = *format.calls;
  const Json tags = call_tags(call, tools), written = calls(call, tags, rules.parallel);
  Json content = rules.content.is_null() ? kAnyText : schema(rules.content);
  if (call.has_headers) content = sequence({constant("<|channel|>final<|message|>"), content});
  Json whole = written;
  if (rules.choice == ToolChoice::automatic)
    whole = call.has_headers || !rules.content.is_null() ? one_of({content, written})
                                                         : free_text(call, tags, rules.parallel);
  return {{"type", "structural_tag"}, {"format", with_reasoning(format, rules.in_reasoning, whole)}};
}

}  // namespace attend

#include "data/questions.h"

#include "base/utf8.h"
#include "data/bad_rows.h"
#include "data/lines.h"

namespace attend {
namespace {

const char* const kQuestionsExpected = "a question, its context and answers";

// The byte where character `at` of valid UTF-8 begins; none if the text is shorter.
std::optional<std::size_t> byte_of(std::string_view text, std::int64_t at) {
  std::size_t byte = 0;
  for (; at > 0 && byte < text.size(); --at) byte += decode_utf8(text, byte).size;
  if (at > 0) return {};
  return byte;
}

// An answer in a context, checked.
ContextAnswer answer_of(const std::string& context, const Json& text, const Json& start,
                        const std::string& place) {
  if (!text.is_string() || text.get_ref<const std::string&>().empty() || !start.is_number_integer())
    fail("{}: answers: expected texts and the numbers of the characters where they start, found {} and {}",
         place, shown(text), shown(start));
  ContextAnswer answer{text.get<std::string>(), start.get<std::int64_t>()};
  const auto byte = answer.start < 0 ? std::nullopt : byte_of(context, answer.start);
  if (!byte || context.compare(*byte, answer.text.size(), answer.text) != 0)
    fail("{}: expected the answer {} at character {} of the context, where it does not stand", place,
         shown(text), answer.start);
  return answer;
}

std::vector<ContextAnswer> answers_of(const Json& answers, const std::string& context,
                                      const std::string& place) {
  std::vector<ContextAnswer> result;
  if (answers.is_array()) {  // SQuAD's own format: a list of answers
    for (const Json& answer : answers) {
      if (!answer.is_object() || !answer.contains("text") || !answer.contains("answer_start"))
        fail("{}: answers: expected objects with text and answer_start, found {}", place, shown(answer));
      result.push_back(answer_of(context, answer["text"], answer["answer_start"], place));
    }
    return result;
  }
  const auto list = [&](const char* name) {
    const auto found = answers.is_object() ? answers.find(name) : answers.end();
    if (!answers.is_object() || found == answers.end() || !found->is_array())
      fail(
          "{}: answers: expected {{\"text\": [...], \"answer_start\": [...]}}, which say where in the "
          "context an "
          "answer stands, found {}",
          place, shown(answers));
    return *found;
  };
  const Json texts = list("text"), starts = list("answer_start");
  if (texts.size() != starts.size())
    fail("{}: answers: expected as many answer_start as text, found {} and {}", place, starts.size(),
         texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    result.push_back(answer_of(context, texts[i], starts[i], place));
  return result;
}

ContextQuestion context_question_of(const Fields& row) {
  ContextQuestion result;
  if (row.has({"id"})) result.id = row.json()["id"].is_string() ? row.text({"id"}) : row.json()["id"].dump();
  result.question = row.text({"question"});
  result.context = row.text({"context"});
  if (trimmed(result.question).empty() || trimmed(result.context).empty())
    fail("{}: the {} is empty", row.source(), trimmed(result.question).empty() ? "question" : "context");
  result.answers = answers_of(row.json()["answers"], result.context, row.source());
  return result;
}

// SQuAD's own file contains articles with paragraphs, which are contexts with their questions.
bool is_squad(const std::string& path) {
  constexpr std::size_t kBeginning = 1 << 16;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe can be read only once
  const TextFile file(path);
  const std::string_view text = file.text().substr(0, kBeginning);
  const std::size_t data = text.find("\"data\"");
  return data != text.npos && text.find("\"paragraphs\"", data) != text.npos;
}

void read_squad(const std::string& file, std::vector<ContextQuestion>& questions) {
  BadRows bad(file, kQuestionsExpected, "questions");
  const auto items = [&](const Json& object, const char* name) {
    if (!object.is_object() || !object.contains(name) || !object[name].is_array())
      fail("{}: expected SQuAD's form, an object with a list '{}', found {}", file, name, shown(object));
    return object[name];
  };
  for (const Json& article : items(read_json(file), "data"))
    for (const Json& paragraph : items(article, "paragraphs"))
      for (const Json& question : items(paragraph, "qas"))
        bad.read([&] {
          Json row = question;
          if (!row.is_object()) fail("{}: expected a question, found {}", file, shown(row));
          if (!row.contains("answers")) row["answers"] = Json::array();
          row["context"] = paragraph.value("context", Json());
          const std::string place =
              fmt::format("{}, question {}", file, shown(row.contains("id") ? row["id"] : row["question"]));
          questions.push_back(context_question_of(Fields(std::move(row), place)));
        });
  bad.report();
}

}  // namespace

std::vector<ContextQuestion> read_questions(const std::vector<std::string>& files,
                                            const TableOptions& options) {
  if (options.format.value_or(TableFormat::json_lines) != TableFormat::json_lines)
    fail("questions, contexts and answers are read from JSON lines; found another format");
  std::vector<ContextQuestion> questions;
  for (const std::string& file : files) {
    if (is_squad(file)) {
      read_squad(file, questions);
      continue;
    }
    read_table(
        {file}, {TableFormat::json_lines, options.columns},
        {kQuestionsExpected, {{"question", "context", "answers"}, {"id", "question", "context", "answers"}}},
        [&](const Fields& row) { questions.push_back(context_question_of(row)); });
  }
  if (questions.empty()) fail("expected at least one file with questions");
  return questions;
}

}  // namespace attend

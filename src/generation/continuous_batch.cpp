// The part of a continuous batch that runs on one thread, step by step.
#include "generation/continuous_batch.h"

#include "base/log.h"
#include "generation/batch_job.h"
#include "tensor/parallel.h"

#include <algorithm>

namespace attend {
namespace {

// Scores of all texts are held at once: at most this many numbers.
constexpr std::int64_t kMaxScores = std::int64_t{1} << 24;

// Reports errors that cannot be reported otherwise. Throws nothing, even without memory for the warning.
void warn_of_current_exception(const char* what) noexcept {
  try {
    try {
      throw;
    } catch (const std::exception& error) {
      warn("{}: {}", what, error.what());
    } catch (...) {
      warn("{}: something other than a std::exception was thrown", what);
    }
  } catch (...) {
  }
}

}  // namespace

ContinuousBatch::~ContinuousBatch() {
  close();
}

void ContinuousBatch::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  take_changes();
  for (Jobs* jobs : {&running_, &waiting_})
    while (!jobs->empty()) cancel_now(jobs->extract(jobs->begin()));
  report_ends();
}

void ContinuousBatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (step()) continue;
    std::unique_lock lock(mutex_);
    news_.wait(lock, stop, [this] { return !submitted_.empty(); });
  }
}

// Requests move between the maps as nodes, so only the parts that compute need memory and can fail.
bool ContinuousBatch::step() {
  const Unrecorded inference;
  take_changes();
  expire();
  admit();
  try {
    if (const std::vector<Decoder::Feed> feeds = collect_feeds(); !feeds.empty()) pass(feeds);
  } catch (...) {  // the step belongs to all running requests
    for (const auto& [ticket, job] : running_)
      if (!job->result.error) job->fail_with_current_exception();
  }
  retire();
  report_ends();
  const std::lock_guard lock(mutex_);
  return !running_.empty() || !waiting_.empty() || !submitted_.empty();
}

void ContinuousBatch::take_changes() {
  std::vector<Ticket> cancelled;
  {
    const std::lock_guard lock(mutex_);
    waiting_.merge(submitted_);
    cancelled.swap(cancelled_);
  }
  for (const Ticket ticket : cancelled)
    for (Jobs* jobs : {&running_, &waiting_})
      if (auto found = jobs->extract(ticket)) cancel_now(std::move(found));
}

void ContinuousBatch::cancel_now(Jobs::node_type entry) {
  Job& job = *entry.mapped();
  job.result = {BatchResult::End::cancelled};
  give_back(job);
  gone_.insert(std::move(entry));
}

void ContinuousBatch::give_back(Job& job) {
  if (!job.search) return;
  try {
    job.search->release(*decoder_);
  } catch (...) {
    warn_of_current_exception("a request's memory in the cache could not be given back");
  }
  job.search.reset();
}

// Not requests that have begun and wait to continue.
void ContinuousBatch::expire() {
  if (max_queue_seconds_ == 0) return;
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto entry = next++;
    Job& job = *entry->second;
    if (job.times.begin > 0 || job.age() <= max_queue_seconds_) continue;
    try {
      throw WaitedTooLong(
          fmt::format("it has waited for more than {} seconds: try again later", max_queue_seconds_));
    } catch (...) {
      job.fail_with_current_exception();
    }
    gone_.insert(waiting_.extract(entry));
  }
}

// In the order of arrival, until the next one does not fit in addition to the running requests.
void ContinuousBatch::admit() {
  const std::int64_t max_rows = kMaxScores / target_->spec().vocabulary;
  std::int64_t cost = 0, rows = 0, texts = 0;  // of all requests that will run
  const auto count = [&](const Job& job) {
    cost += job.cost();
    rows += job.rows;
    texts += job.texts;
  };
  std::int64_t pages = free_pages();
  for (const auto& [ticket, job] : running_) {
    count(*job);
    pages -= job->pages_to_come;
  }
  std::vector<Job*> joining;
  while (!waiting_.empty()) {
    Job& job = *waiting_.begin()->second;
    try {
      // A restarted request soon needs the pages it had. One page is spared for every other running text, so
      // that none is preempted again at once.
      const std::int64_t spare = texts / 2, needed = job.pages(*decoder_, job.made_before + 1) -
                                                     decoder_->pages_shared(job.request.prompt);
      count(job);
      const bool fits = cost <= batch_tokens_ && rows <= max_rows && needed <= pages - spare;
      if (!fits && !running_.empty()) break;
      joining.push_back(&job);
      pages -= needed;
    } catch (...) {
      job.fail_with_current_exception();
    }
    running_.insert(waiting_.extract(waiting_.begin()));
  }
  if (!joining.empty()) begin(joining);
}

std::int64_t ContinuousBatch::free_pages() const {
  return decoder_->max_pages() == 0 ? std::numeric_limits<std::int64_t>::max()
                                    : decoder_->max_pages() - decoder_->pages_in_use();
}

void ContinuousBatch::begin(std::span<Job* const> jobs) {
  std::vector<Decoder::Sequence> sequences;
  try {
    std::vector<const Prompt*> prompts;
    for (const Job* job : jobs) prompts.push_back(&job->request.prompt);
    sequences = decoder_->add(prompts);
  } catch (...) {
    for (Job* job : jobs) job->fail_with_current_exception();
    return;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    try {
      begin(*jobs[i], sequences[i]);
    } catch (...) {
      decoder_->release(sequences[i]);
      jobs[i]->fail_with_current_exception();
    }
  }
}

void ContinuousBatch::begin(Job& job, Decoder::Sequence sequence) {
  Request request;
  request.settings = job.request.settings.get();
  request.number = job.request.number;
  request.tokens.assign(job.tokens.begin(), job.tokens.end());
  request.source = job.source;
  request.first = job.first;
  request.limits = job.limits;
  request.max_new = job.max_new;
  request.sequence = sequence;
  if (!job.negative.empty())
    decoder_->guide(sequence, job.config().guidance_scale, job.negative, job.request.prompt.adapter);
  if (assistant_)
    request.draft_source = assistant_->draft_source(job.request.prompt, job.config().num_assistant_tokens);
  if (job.request.on_token) {
    job.made.assign(static_cast<std::size_t>(job.texts), 0);
    job.sent.resize(job.made.size(), 0);
    request.on_token = [&job](std::size_t text, const ChosenToken& token) {
      if (++job.made[text] <= job.sent[text]) return;
      job.sent[text] = job.made[text];
      job.request.on_token(text, token);
    };
  }
  job.search = make_search(std::move(request));
  if (job.times.begin == 0) job.times.begin = job.age();
}

// What the running requests read next. If there is no room for it, the newest requests are preempted.
std::vector<Decoder::Feed> ContinuousBatch::collect_feeds() {
  while (true) {
    std::vector<Decoder::Feed> feeds;
    std::int64_t rows = 0, pages = 0, prompt_tokens = prompt_step_tokens_;
    const std::vector<Job*> jobs = active();
    for (Job* job : jobs) {
      job->first_row = rows;
      const std::size_t before = feeds.size();
      pages += feed(*job, feeds, prompt_tokens);
      for (std::size_t i = before; i < feeds.size(); ++i) rows += static_cast<std::int64_t>(feeds[i].scored);
      job->is_scored = rows > job->first_row;
    }
    if (pages <= free_pages()) return feeds;
    if (jobs.size() > 1)
      preempt(*jobs.back());
    else
      jobs.back()->fail(std::make_exception_ptr(Error(
          fmt::format("its text needs keys and values of more than the {} tokens that there is memory for",
                      decoder_->max_pages() * PagedCache::kPageRows))));
  }
}

// Appends what a request reads next, and returns the pages that it needs. `prompt_tokens`: how many tokens of
// prompts the step may still read.
std::int64_t ContinuousBatch::feed(Job& job, std::vector<Decoder::Feed>& feeds,
                                   std::int64_t& prompt_tokens) const {
  const std::size_t before = feeds.size();
  job.search->feed(feeds);
  job.pages_to_come = 0;
  std::int64_t pages = 0;
  if (!job.in_pieces || job.search->steps() > 0) {
    for (std::size_t i = before; i < feeds.size(); ++i) pages += decoder_->pages_for(feeds[i]);
    return pages;
  }
  Decoder::Feed& prompt = feeds.back();
  prompt.from_start = true;
  pages = decoder_->pages_for(prompt);
  const std::int64_t all = std::ssize(prompt.tokens), known = decoder_->known_tokens(prompt);
  if (all - known <= prompt_tokens) {
    prompt_tokens -= all - known;
    return pages;
  }
  constexpr std::int64_t page = PagedCache::kPageRows;
  std::int64_t end = known + prompt_tokens / page * page;
  if (all - end == 1) end -= page;  // no piece has a single token
  prompt_tokens = 0;                // no later prompt overtakes this one
  if (end <= known) {
    feeds.pop_back();
    job.pages_to_come = pages;
    return 0;
  }
  prompt.tokens = prompt.tokens.first(static_cast<std::size_t>(end));
  prompt.scored = 0;
  const std::int64_t taken = decoder_->pages_for(prompt);
  job.pages_to_come = pages - taken;
  return taken;
}

// Back to the waiting requests, to be restarted.
void ContinuousBatch::preempt(Job& job) {
  job.made_before = std::max(job.made_before, job.search->steps());
  give_back(job);
  waiting_.insert(running_.extract(job.ticket));
  const std::lock_guard lock(mutex_);
  ++status_.preemptions;
}

std::vector<ContinuousBatch::Job*> ContinuousBatch::active() const {
  std::vector<Job*> jobs;
  for (const auto& [ticket, job] : running_)
    if (!job->result.error) jobs.push_back(job.get());
  return jobs;
}

void ContinuousBatch::pass(std::span<const Decoder::Feed> feeds) {
  std::vector<Job*> jobs = active();
  std::erase_if(jobs, [](const Job* job) { return !job->is_scored; });
  const auto each = [&](std::size_t i, const auto& act) {  // an exception in one request fails only that
                                                           // request
    try {
      act(*jobs[i]);
    } catch (...) {
      jobs[i]->fail_with_current_exception();
    }
  };
  Tensor scores = decoder_->step(feeds).home();  // [rows, V]
  if (jobs.empty()) return;
  const std::int64_t vocabulary = scores.size(1);
  const auto end_of = [&](std::size_t i) {
    return i + 1 < jobs.size() ? jobs[i + 1]->first_row : scores.size(0);
  };
  if (std::ranges::all_of(jobs, &Job::has_beams)) {
    scores = ops::log_softmax(scores, 1);
  } else {
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (jobs[i]->has_beams()) {
        const Tensor own = scores.narrow(0, jobs[i]->first_row, end_of(i) - jobs[i]->first_row);
        own.copy_(ops::log_softmax(own, 1));
      }
  }
  const auto now = std::chrono::steady_clock::now();
  float* data = scores.data<float>();
  const auto count = static_cast<std::int64_t>(jobs.size());
  parallel_ranges(count, scores.numel() / count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      each(static_cast<std::size_t>(i), [&](Job& job) {
        if (job.is_late(now)) job.search->set_out_of_time();
        job.search->choose(data + job.first_row * vocabulary, vocabulary);
      });
  });
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (!jobs[i]->result.error)
      each(i, [&](Job& job) {
        if (job.times.first_token == 0) job.times.first_token = job.age();
        job.search->advance(*decoder_);
      });
}

// Removes finished requests.
void ContinuousBatch::retire() {
  const std::int64_t pages = decoder_->pages_in_use();  // the maximum of this step
  for (auto next = running_.begin(); next != running_.end();) {
    const auto entry = next++;
    Job& job = *entry->second;
    if (!job.result.error && !job.search->done()) continue;
    try {
      if (!job.result.error) job.result.texts = job.results();
    } catch (...) {
      job.fail_with_current_exception();
    }
    give_back(job);
    gone_.insert(running_.extract(entry));
  }
  const std::lock_guard lock(mutex_);
  ++status_.steps;
  status_.running = running_.size();
  status_.waiting = waiting_.size();
  status_.waiting_tokens = 0;
  for (const auto& [ticket, job] : waiting_) status_.waiting_tokens += job->request.prompt.ids.size();
  status_.pages_in_use = decoder_->pages_in_use();
  status_.tokens_read = decoder_->tokens_read();
  status_.peak_pages = std::max(status_.peak_pages, pages);
}

// Without the lock, because callbacks submit and cancel. Each request is removed before its callback runs.
void ContinuousBatch::report_ends() {
  while (!gone_.empty()) {
    const std::unique_ptr<Job> job = std::move(gone_.extract(gone_.begin()).mapped());
    if (!job->request.on_end) continue;
    job->times.end = job->age();
    job->result.times = job->times;
    try {
      job->request.on_end(std::move(job->result));
    } catch (...) {
      warn_of_current_exception("a request's on_end");
    }
  }
}

}  // namespace attend

#include "tokenizers/files/sentencepiece_families.h"

#include "base/error.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

using Family = SentencePieceFamily;
using Ids = Family::Ids;
using Steps = Family::Steps;

// The languages of mBART (Liu et al. 2020, arXiv:2001.08210) come first, then those added by Tang et al. 2020
// (arXiv:2008.00401).
constexpr std::string_view mbart50[] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT",
    "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK",
    "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE",
    "km_KH", "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN",
    "te_IN", "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};
constexpr std::span<const std::string_view> mbart = std::span(mbart50).first(25);

// Costa-jussà et al. 2022, arXiv:2207.04672.
constexpr std::string_view nllb[] = {
    "ace_Arab", "ace_Latn", "acm_Arab", "acq_Arab", "aeb_Arab", "afr_Latn", "ajp_Arab", "aka_Latn",
    "amh_Ethi", "apc_Arab", "arb_Arab", "ars_Arab", "ary_Arab", "arz_Arab", "asm_Beng", "ast_Latn",
    "awa_Deva", "ayr_Latn", "azb_Arab", "azj_Latn", "bak_Cyrl", "bam_Latn", "ban_Latn", "bel_Cyrl",
    "bem_Latn", "ben_Beng", "bho_Deva", "bjn_Arab", "bjn_Latn", "bod_Tibt", "bos_Latn", "bug_Latn",
    "bul_Cyrl", "cat_Latn", "ceb_Latn", "ces_Latn", "cjk_Latn", "ckb_Arab", "crh_Latn", "cym_Latn",
    "dan_Latn", "deu_Latn", "dik_Latn", "dyu_Latn", "dzo_Tibt", "ell_Grek", "eng_Latn", "epo_Latn",
    "est_Latn", "eus_Latn", "ewe_Latn", "fao_Latn", "pes_Arab", "fij_Latn", "fin_Latn", "fon_Latn",
    "fra_Latn", "fur_Latn", "fuv_Latn", "gla_Latn", "gle_Latn", "glg_Latn", "grn_Latn", "guj_Gujr",
    "hat_Latn", "hau_Latn", "heb_Hebr", "hin_Deva", "hne_Deva", "hrv_Latn", "hun_Latn", "hye_Armn",
    "ibo_Latn", "ilo_Latn", "ind_Latn", "isl_Latn", "ita_Latn", "jav_Latn", "jpn_Jpan", "kab_Latn",
    "kac_Latn", "kam_Latn", "kan_Knda", "kas_Arab", "kas_Deva", "kat_Geor", "knc_Arab", "knc_Latn",
    "kaz_Cyrl", "kbp_Latn", "kea_Latn", "khm_Khmr", "kik_Latn", "kin_Latn", "kir_Cyrl", "kmb_Latn",
    "kon_Latn", "kor_Hang", "kmr_Latn", "lao_Laoo", "lvs_Latn", "lij_Latn", "lim_Latn", "lin_Latn",
    "lit_Latn", "lmo_Latn", "ltg_Latn", "ltz_Latn", "lua_Latn", "lug_Latn", "luo_Latn", "lus_Latn",
    "mag_Deva", "mai_Deva", "mal_Mlym", "mar_Deva", "min_Latn", "mkd_Cyrl", "plt_Latn", "mlt_Latn",
    "mni_Beng", "khk_Cyrl", "mos_Latn", "mri_Latn", "zsm_Latn", "mya_Mymr", "nld_Latn", "nno_Latn",
    "nob_Latn", "npi_Deva", "nso_Latn", "nus_Latn", "nya_Latn", "oci_Latn", "gaz_Latn", "ory_Orya",
    "pag_Latn", "pan_Guru", "pap_Latn", "pol_Latn", "por_Latn", "prs_Arab", "pbt_Arab", "quy_Latn",
    "ron_Latn", "run_Latn", "rus_Cyrl", "sag_Latn", "san_Deva", "sat_Beng", "scn_Latn", "shn_Mymr",
    "sin_Sinh", "slk_Latn", "slv_Latn", "smo_Latn", "sna_Latn", "snd_Arab", "som_Latn", "sot_Latn",
    "spa_Latn", "als_Latn", "srd_Latn", "srp_Cyrl", "ssw_Latn", "sun_Latn", "swe_Latn", "swh_Latn",
    "szl_Latn", "tam_Taml", "tat_Cyrl", "tel_Telu", "tgk_Cyrl", "tgl_Latn", "tha_Thai", "tir_Ethi",
    "taq_Latn", "taq_Tfng", "tpi_Latn", "tsn_Latn", "tso_Latn", "tuk_Latn", "tum_Latn", "tur_Latn",
    "twi_Latn", "tzm_Tfng", "uig_Arab", "ukr_Cyrl", "umb_Latn", "urd_Arab", "uzn_Latn", "vec_Latn",
    "vie_Latn", "war_Latn", "wol_Latn", "xho_Latn", "ydd_Hebr", "yor_Latn", "yue_Hant", "zho_Hans",
    "zho_Hant", "zul_Latn"};

// Ahmad et al. 2021, arXiv:2103.06333: two programming languages, or six.
constexpr std::string_view plbart[] = {"__java__", "__python__", "__en_XX__", "__javascript__",
                                       "__php__",  "__ruby__",   "__go__"};

// The tokens that Pegasus was trained with, in addition to pieces.
std::vector<std::string_view> pegasus_unknowns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"<mask_1>"};
    for (int i = 2; i < 103; ++i) all.push_back("<unk_" + std::to_string(i) + ">");
    return all;
  }();
  return {names.begin(), names.end()};
}
constexpr std::string_view madeup_words[] = {"<madeupword0>", "<madeupword1>", "<madeupword2>",
                                             "<madeupword3>", "<madeupword4>", "<madeupword5>",
                                             "<madeupword6>"};

const std::vector<Family> families = {
    {.names = {"T5", "t5", "MT5", "mt5", "umt5"},
     .roles = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
     .single = "$A </s>",
     .pair = "$A </s> $B </s>",
     .sentinels = 100,
     .closes_once = true},
    {.names = {"XLMRoberta", "xlm-roberta", "xlm-roberta-xl"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<s>"},
               {"mask_token", "<mask>", true}},
     .single = "<s> $A </s>",
     .pair = "<s> $A </s> </s> $B </s>",
     .ids = Ids::fairseq,
     .after = {"<mask>"},
     .joining = {.by_model = false}},
    {.names = {"Camembert", "camembert"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<s>"},
               {"mask_token", "<mask>", true}},
     .single = "<s> $A </s>",
     .pair = "<s> $A </s> </s> $B </s>",
     .ids = Ids::camembert,
     .additional = {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"},
     .after = {"<mask>"}},
    {.names = {"MBart", "mbart"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<s>"},
               {"mask_token", "<mask>", true}},
     .single = "$A eos_token language",
     .pair = "$A $B eos_token language",
     .ids = Ids::fairseq,
     .after = {"<mask>"},
     .languages = mbart,
     .joining = {.by_model = false}},
    {.names = {"PLBart", "plbart"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<s>"},
               {"mask_token", "<mask>", true}},
     .single = "$A eos_token language",
     .pair = "$A $B eos_token language",
     .ids = Ids::fairseq,
     .steps = Steps::sentencepiece,
     .after = {"<mask>"},
     .languages = plbart,
     .usual_language = "",
     .base_languages = 3,
     .joining = {.by_model = false}},
    {.names = {"MBart50"},
     .roles = {{"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<s>"},
               {"mask_token", "<mask>", true, true}},
     .single = "language $A eos_token",
     .pair = "language $A $B eos_token",
     .ids = Ids::fairseq,
     .after = {"<mask>"},
     .languages = mbart50},
    {.names = {"Nllb", "nllb"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<s>"},
               {"mask_token", "<mask>", true, true}},
     .single = "language $A eos_token",
     .pair = "language $A $B eos_token",
     .legacy_single = "$A eos_token language",
     .legacy_pair = "$A $B eos_token language",
     .ids = Ids::fairseq,
     .languages = nllb,
     .usual_language = "eng_Latn",
     .numbers_languages = false},
    {.names = {"Pegasus", "pegasus"},
     .roles =
         {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}, {"mask_token", "<mask_2>"}},
     .single = "$A eos_token",
     .pair = "$A $B eos_token",
     .ids = Ids::pegasus,
     .steps = Steps::words,
     .additional = pegasus_unknowns()},
    {.names = {"XGLM", "xglm"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<s>"}},
     .single = "</s> $A",
     .pair = "</s> $A </s> </s> $B",
     .ids = Ids::fairseq,
     .additional = {std::begin(madeup_words), std::end(madeup_words)},
     .keeps_additional = true,
     .after = {std::begin(madeup_words), std::end(madeup_words)}},
    {.names = {"Albert", "albert"},
     .roles = {{"bos_token", "[CLS]"},
               {"eos_token", "[SEP]"},
               {"unk_token", "<unk>"},
               {"sep_token", "[SEP]"},
               {"pad_token", "<pad>"},
               {"cls_token", "[CLS]"},
               {"mask_token", "[MASK]", true}},
     .single = "[CLS] $A [SEP]",
     .pair = "[CLS] $A [SEP] $B:1 [SEP]:1",
     .steps = Steps::cleaned,
     .lowercases = true},
    {.names = {"XLNet", "xlnet"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "<sep>"},
               {"pad_token", "<pad>"},
               {"cls_token", "<cls>"},
               {"mask_token", "<mask>", true}},
     .single = "$A <sep> <cls>:2",
     .pair = "$A <sep> $B:1 <sep>:1 <cls>:2",
     .steps = Steps::cleaned,
     .additional = {"<eop>", "<eod>"},
     .joining = {.by_model = false},
     .between_parts = ""},
    {.names = {"BigBird", "big_bird"},
     .roles = {{"bos_token", "<s>", false, true},
               {"eos_token", "</s>", false, true},
               {"unk_token", "<unk>", false, true},
               {"sep_token", "[SEP]", false, true},
               {"pad_token", "<pad>", false, true},
               {"cls_token", "[CLS]", false, true},
               {"mask_token", "[MASK]", true, true}},
     .single = "[CLS] $A [SEP]",
     .pair = "[CLS] $A [SEP] $B:1 [SEP]:1",
     .between_parts = " ",
     .closing = {"[MASK]", "[SEP]"}},
    {.names = {"DebertaV2", "deberta-v2"},
     .roles = {{"bos_token", "[CLS]"},
               {"eos_token", "[SEP]"},
               {"unk_token", "[UNK]", false, true},
               {"sep_token", "[SEP]"},
               {"pad_token", "[PAD]"},
               {"cls_token", "[CLS]"},
               {"mask_token", "[MASK]"}},
     .single = "[CLS] $A [SEP]",
     .pair = "[CLS] $A [SEP] $B:1 [SEP]:1",
     .steps = Steps::punctuation},
    {.names = {"Llama", "llama", "mistral"},
     .roles = {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}},
     .single = "bos_token? $A eos_token?",
     .pair = "bos_token? $A eos_token? bos_token?:1 $B:1 eos_token?:1",
     .steps = Steps::plain,
     .joining = {.bare_begin = true, .strips = false}},
    {.names = {"Gemma", "gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text"},
     .roles =
         {{"bos_token", "<bos>"}, {"eos_token", "<eos>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
     .single = "bos_token? $A eos_token?",
     .pair = "bos_token? $A eos_token? bos_token?:1 $B:1 eos_token?:1",
     .ids = Ids::gemma,
     .steps = Steps::kept,
     .marks = {"<start_of_turn>", "<end_of_turn>"}},
    {.names = {"M2M100", "m2m_100"},
     .roles = {{"bos_token", "<s>"},
               {"eos_token", "</s>"},
               {"unk_token", "<unk>"},
               {"sep_token", "</s>"},
               {"pad_token", "<pad>"}},
     .single = "language $A eos_token",
     .pair = "language $A $B eos_token",
     .ids = Ids::vocab_json,
     .steps = Steps::sentencepiece,
     .has_languages = true,
     .joining = {.before_run = false}},
    {.names = {"Marian", "marian"},
     .roles = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
     .single = "$A eos_token",
     .pair = "$A $B eos_token",
     .ids = Ids::vocab_json,
     .steps = Steps::sentencepiece,
     .has_language_codes = true,
     .joining = {.before_run = false, .behind_special = true}},
};

// Fan et al. 2020, "Beyond English-centric multilingual machine translation", arXiv:2010.11125.
constexpr std::string_view m2m100[] = {
    "af", "am", "ar", "ast", "az", "ba",  "be", "bg", "bn", "br", "bs", "ca", "ceb", "cs", "cy", "da", "de",
    "el", "en", "es", "et",  "fa", "ff",  "fi", "fr", "fy", "ga", "gd", "gl", "gu",  "ha", "he", "hi", "hr",
    "ht", "hu", "hy", "id",  "ig", "ilo", "is", "it", "ja", "jv", "ka", "kk", "km",  "kn", "ko", "lb", "lg",
    "ln", "lo", "lt", "lv",  "mg", "mk",  "ml", "mn", "mr", "ms", "my", "ne", "nl",  "no", "ns", "oc", "or",
    "pa", "pl", "ps", "pt",  "ro", "ru",  "sd", "si", "sk", "sl", "so", "sq", "sr",  "ss", "su", "sv", "sw",
    "ta", "th", "tl", "tn",  "tr", "uk",  "ur", "uz", "vi", "wo", "xh", "yi", "yo",  "zh", "zu"};
constexpr std::string_view wmt21[] = {"en", "ha", "is", "ja", "cs", "ru", "zh", "de"};

}  // namespace

std::span<const Family> sentencepiece_families() {
  return families;
}

const Family* find_sentencepiece_family(std::string_view name) {
  const auto found = std::find_if(families.begin(), families.end(), [name](const Family& family) {
    return std::find(family.names.begin(), family.names.end(), name) != family.names.end();
  });
  return found == families.end() ? nullptr : &*found;
}

std::pair<std::string, std::string> Family::templates(const Fields& config) const {
  const bool legacy = legacy_single != nullptr && config.flag({"legacy_behaviour"}, false);
  return legacy ? std::pair<std::string, std::string>{legacy_single, legacy_pair}
                : std::pair<std::string, std::string>{single, pair};
}

bool Family::has_base_languages(const Fields& config) const {
  if (base_languages == 0) return false;
  const std::string set = config.text({"language_codes"}, "base");
  if (set != "base" && set != "multi")
    fail("{}: language_codes is '{}', expected base or multi", config.source(), set);
  return set == "base";
}

std::span<const std::string_view> Family::languages_of(const Fields& config) const {
  return has_base_languages(config) ? languages.first(base_languages) : languages;
}

std::span<const std::string_view> Family::behind_of(const Fields& config) const {
  if (base_languages > 0 && !has_base_languages(config)) return {};
  return after;
}

SpaceFields read_spaces(const Family& family, const Fields& config) {
  if (family.steps != Steps::plain && family.sentinels == 0) return {};
  return {true, config.flag({"add_prefix_space"}, true), config.flag({"legacy"}, true)};
}

std::span<const std::string_view> m2m_languages(std::string_view set) {
  if (set == "m2m100") return m2m100;
  if (set == "wmt21") return wmt21;
  return {};
}

}  // namespace attend::tokenizers

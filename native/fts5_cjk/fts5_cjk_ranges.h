/*
** The characters that form CJK runs: blocks of Unicode 17.0, in order,
** disjoint. Written by make_ranges.py together with core/cjk_ranges.py; do not edit.
*/
#define CJK_UNICODE_VERSION "17.0"

static const struct CjkRange {
  unsigned int iFirst;
  unsigned int iLast;
} aCjkRange[] = {
  {0x00E00, 0x00EFF}, /* Thai, Lao */
  {0x01000, 0x0109F}, /* Burmese */
  {0x01100, 0x011FF}, /* Hangul Jamo */
  {0x01780, 0x017FF}, /* Khmer */
  {0x03005, 0x03007}, /* iteration mark, closing mark, zero */
  {0x03021, 0x0302F}, /* Hangzhou numerals, tone marks */
  {0x03031, 0x03035}, /* vertical kana repeat marks */
  {0x03038, 0x0303B}, /* Hangzhou numerals, vertical iteration mark */
  {0x03041, 0x0309F}, /* Hiragana with voiced sound and iteration marks */
  {0x030A1, 0x030FA}, /* Katakana with prolonged sound and iteration marks */
  {0x030FC, 0x030FF}, /* Katakana with prolonged sound and iteration marks */
  {0x03100, 0x0312F}, /* Bopomofo */
  {0x03130, 0x0318F}, /* Hangul Compatibility Jamo */
  {0x031A0, 0x031BF}, /* Bopomofo Extended */
  {0x031F0, 0x031FF}, /* Katakana Phonetic Extensions */
  {0x03400, 0x04DBF}, /* ideographs, Extension A */
  {0x04E00, 0x09FFF}, /* ideographs */
  {0x0A960, 0x0A97F}, /* Hangul Jamo Extended-A */
  {0x0AC00, 0x0D7AF}, /* Hangul syllables */
  {0x0D7B0, 0x0D7FF}, /* Hangul Jamo Extended-B */
  {0x0F900, 0x0FAFF}, /* compatibility ideographs */
  {0x0FF66, 0x0FF9F}, /* half-width Katakana */
  {0x0FFA0, 0x0FFDC}, /* half-width Hangul */
  {0x16FE3, 0x16FE3}, /* Old Chinese iteration mark */
  {0x1AFF0, 0x1AFFF}, /* Kana Extended-B */
  {0x1B000, 0x1B12F}, /* Kana Supplement and Extended-A */
  {0x1B130, 0x1B16F}, /* Small Kana Extension */
  {0x20000, 0x2FFFD}, /* the Supplementary Ideographic Plane */
  {0x30000, 0x3FFFD}, /* the Tertiary Ideographic Plane */
};

/*
** Cut arbitrary bytes and check every promise of checks.h.
**
** With clang this is a libFuzzer target. Compiled with -DFUZZ_ALONE it is a program
** of its own, `fuzz_tokenize SECONDS SEED`, that mutates the seed texts below; both
** are meant to run under AddressSanitizer and UndefinedBehaviorSanitizer.
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks.h"

int sqlite3_ftscjk_init(sqlite3 *, char **, const struct sqlite3_api_routines *);
int LLVMFuzzerTestOneInput(const uint8_t *z, size_t n);

/* Return the tokenizer under test, made at the first call. */
static const Cutter *cutter(void){
  static Cutter made;
  static sqlite3 *db = 0;
  fts5_api *pApi;
  char *zError = 0;

  if( db==0 ){
    if( sqlite3_open(":memory:", &db)!=SQLITE_OK ) abort();
    sqlite3_ftscjk_init(db, &zError, 0);
    pApi = fts5_of(db);
    if( pApi==0 || cutter_open(&made, pApi)!=SQLITE_OK ) abort();
  }
  return &made;
}

/*
** One input: the first byte says which token to refuse, the rest is the text. The
** text is copied so that reading one byte beyond it is caught.
*/
int LLVMFuzzerTestOneInput(const uint8_t *z, size_t n){
  int nText = n>0 ? (int)n - 1 : 0;
  unsigned char *zText = malloc((size_t)nText + (nText==0));

  if( zText==0 ) abort();
  if( nText>0 ) memcpy(zText, z + 1, (size_t)nText);
  check_text(cutter(), zText, nText, n>0 ? z[0] : 0);
  free(zText);
  return 0;
}

#ifdef FUZZ_ALONE

#define MAX_INPUT 256

static const char *const azSeed[] = {
  "\003nginx服务器 foo 电影。影片 e\xcc\x81t\xc3\xa9",
  "\001當時々 がっこう ㄅㄆㄇ 한국어 ｱｲｳﾞ",
  "\002𰀀𰀁 𠮷野家 กินข้าว ភាសា မြန်မာ 🚀ok🤖",
  "\005\xe7\x94\xe5\xbd\xb1\xff\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80中\xe4\xb8",
  "\000plain ASCII, x@y.z \0 a..b",
};
static const char *const azPiece[] = {
  "中", "𠀀", "ー", "가", "ㄅ", "ก", "a", " ", "。", "é", "\xcc\x81", "\xe4", "\xe4\xb8", "\xf0\xa0",
  "\x80", "\xed\xbf\xbf", "\xf4\x8f\xbf\xbf", "\xef\xbf\xbf", "\xff", "🚀",
};

/* Return the next pseudo-random number (xorshift64). */
static uint64_t next(uint64_t *pState){
  uint64_t x = *pState;
  x ^= x<<13;
  x ^= x>>7;
  x ^= x<<17;
  return *pState = x;
}

/* Change z[0..n-1] once: put in a piece, set, drop or repeat bytes. Returns its size. */
static size_t mutate(uint8_t *z, size_t n, uint64_t *pState){
  size_t i = n ? next(pState)%n : 0;
  const char *zPiece = azPiece[next(pState)%(sizeof(azPiece)/sizeof(azPiece[0]))];
  size_t nPiece = strlen(zPiece);
  size_t nDrop;

  switch( next(pState)%4 ){
    case 0:
      if( n + nPiece>MAX_INPUT ) break;
      memmove(z + i + nPiece, z + i, n - i);
      memcpy(z + i, zPiece, nPiece);
      return n + nPiece;
    case 1:
      if( n ) z[i] = (uint8_t)next(pState);
      break;
    case 2:
      nDrop = n ? next(pState)%(n - i) : 0;
      memmove(z + i, z + i + nDrop, n - i - nDrop);
      return n - nDrop;
    default:
      if( n ) z[i] ^= (uint8_t)(1u<<(next(pState)%8));
      break;
  }
  return n;
}

int main(int nArg, char **azArg){
  time_t end = time(0) + (nArg>1 ? atoi(azArg[1]) : 60);
  uint64_t state = nArg>2 ? strtoull(azArg[2], 0, 10) : 1;
  unsigned long nRun = 0;
  uint8_t z[MAX_INPUT];

  state = state*2862933555777941757u + 3037000493u;
  do{
    const char *zSeed = azSeed[next(&state)%(sizeof(azSeed)/sizeof(azSeed[0]))];
    size_t n = 1 + strlen(zSeed + 1);
    int nChange = 1 + (int)(next(&state)%24);

    memcpy(z, zSeed, n);
    while( nChange-->0 ){
      n = mutate(z, n, &state);
      LLVMFuzzerTestOneInput(z, n);
      nRun++;
    }
  }while( nRun%4096<24 ? time(0)<end : 1 );
  printf("%lu runs, no finding\n", nRun);
  return 0;
}

#endif

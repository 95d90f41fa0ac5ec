/*
** fts5_cjk: the FTS5 tokenizer "cjk_unicode61" as a loadable extension.
**
** A run of CJK characters becomes overlapping tokens of two characters, followed
** by its last character alone; everything else goes to unicode61. With every
** character of a run starting some token, and a phrase unable to cross the end of
** a run, a phrase of such tokens is a substring search. README.md has the rules
** and what a query must look like.
**
** Entry point: sqlite3_ftscjk_init, the name SQLite derives from libfts5_cjk.
** Nothing here keeps state outside a connection, fails on text, or folds it.
*/
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <string.h>

#include "fts5_cjk_ranges.h"

/* Changes whenever the tokens of some text change: indexes must then be rebuilt. */
#define FTS5_CJK_VERSION "1.0.0"

#ifdef _WIN32
#define FTS5_CJK_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define FTS5_CJK_EXPORT __attribute__((visibility("default")))
#else
#define FTS5_CJK_EXPORT
#endif

/* A table's tokenizer: the instance of unicode61 that takes what is not CJK. */
typedef struct CjkTokenizer {
  fts5_tokenizer methods;
  Fts5Tokenizer *pUnicode61;
} CjkTokenizer;

/* FTS5's callback for tokens; the arguments are those of xTokenize's xToken. */
typedef int (*TokenCallback)(void *, int, const char *, int, int, int);

/* The text being cut, and where its tokens go. */
typedef struct CjkOutput {
  const unsigned char *zText;
  int nText;
  int bQuery;             /* a query's phrase, not a document */
  int iStretch;           /* where the text given to unicode61 begins */
  int iHeld, iHeldEnd;    /* a run's last character not yet sent; none when equal */
  TokenCallback xToken;
  void *pContext;
} CjkOutput;

/*
** Decode the UTF-8 sequence at z[0..n-1] into *pCode.
**
** Returns the number of bytes read, 1..4, never more than n. Malformed input
** yields U+FFFD and length 1, so a caller that adds the result always advances
** and always stops: text in the wild is not always UTF-8, and a tokenizer that
** fails would make the row unreadable.
**
** Requires n >= 1. Source: RFC 3629, section 3; its table in section 4 gives the
** range of the second byte that excludes overlong forms, surrogates and codes
** above U+10FFFF.
*/
static int utf8_decode(const unsigned char *z, int n, unsigned int *pCode){
  unsigned int code = z[0];
  unsigned int low = 0x80, high = 0xBF;
  int nByte = 0;
  int i;

  if( code<0x80 ){
    nByte = 1;
  }else if( code>=0xC2 && code<=0xDF ){
    nByte = 2;
    code &= 0x1F;
  }else if( code>=0xE0 && code<=0xEF ){
    nByte = 3;
    if( code==0xE0 ) low = 0xA0;
    if( code==0xED ) high = 0x9F;
    code &= 0x0F;
  }else if( code>=0xF0 && code<=0xF4 ){
    nByte = 4;
    if( code==0xF0 ) low = 0x90;
    if( code==0xF4 ) high = 0x8F;
    code &= 0x07;
  }
  if( nByte>n ) nByte = 0;
  for(i=1; i<nByte; i++){
    if( z[i]<low || z[i]>high ){
      nByte = 0;
    }else{
      code = (code<<6) | (z[i] & 0x3Fu);
      low = 0x80;
      high = 0xBF;
    }
  }
  if( nByte==0 ){
    nByte = 1;
    code = 0xFFFD;
  }
  *pCode = code;
  return nByte;
}

/*
** Tell whether a code point forms CJK runs, by binary search in the table.
**
** Returns 1 or 0.
*/
static int is_cjk(unsigned int code){
  int iLow = 0;
  int iHigh = (int)(sizeof(aCjkRange)/sizeof(aCjkRange[0])) - 1;
  int bFound = code>=0x4E00 && code<=0x9FFF;   /* most of what is asked for */

  while( !bFound && iLow<=iHigh ){
    int iMiddle = (iLow + iHigh)/2;
    if( code<aCjkRange[iMiddle].iFirst ){
      iHigh = iMiddle - 1;
    }else if( code>aCjkRange[iMiddle].iLast ){
      iLow = iMiddle + 1;
    }else{
      bFound = 1;
    }
  }
  return bFound;
}

/*
** Look for a CJK character at offset i of the text.
**
** Returns its length in bytes, or 0 when there is none: at the end of the text,
** before any other character, and at malformed bytes.
**
** Requires 0 <= i <= p->nText.
*/
static int cjk_length(const CjkOutput *p, int i){
  unsigned int code;
  int nByte = 0;

  if( i<p->nText ){
    nByte = utf8_decode(&p->zText[i], p->nText - i, &code);
    if( !is_cjk(code) ) nByte = 0;
  }
  return nByte;
}

/*
** Find the first CJK character at or after offset i of the text.
**
** Returns its offset, or p->nText when there is none. No CJK character is below
** U+0800, so no byte below 0xE0 is worth decoding.
**
** Requires 0 <= i <= p->nText.
*/
static int find_run(const CjkOutput *p, int i){
  while( i<p->nText && (p->zText[i]<0xE0 || cjk_length(p, i)==0) ) i++;
  return i;
}

/*
** Send the bytes iStart..iEnd-1 of the text as a token.
**
** Returns what FTS5 returns; anything but SQLITE_OK ends the tokenizing.
*/
static int send_slice(const CjkOutput *p, int iStart, int iEnd){
  const char *zToken = (const char*)&p->zText[iStart];
  return p->xToken(p->pContext, 0, zToken, iEnd - iStart, iStart, iEnd);
}

/*
** Send the character that send_run() held back, because a token follows it.
**
** Returns what FTS5 returns. Nothing is held afterwards.
*/
static int send_held(CjkOutput *p){
  int rc = SQLITE_OK;
  int iHeld = p->iHeld;

  if( iHeld<p->iHeldEnd ){
    p->iHeld = p->iHeldEnd;
    rc = send_slice(p, iHeld, p->iHeldEnd);
  }
  return rc;
}

/*
** Send the tokens of the CJK run that starts at *pi, and move *pi to its end.
**
** The run's last character is a token of its own: always in a document; in a query
** only when a token follows, for which it is held back. A query's last run thus
** ends as freely as a substring does. A run of one character is that token only.
** Returns what FTS5 returns.
**
** Requires cjk_length(p, *pi) > 0.
*/
static int send_run(CjkOutput *p, int *pi){
  int rc = send_held(p);
  int iStart = *pi;
  int iChar = iStart;
  int iNext = iChar + cjk_length(p, iChar);
  int nNext;

  while( rc==SQLITE_OK && (nNext = cjk_length(p, iNext))>0 ){
    rc = send_slice(p, iChar, iNext + nNext);
    iChar = iNext;
    iNext += nNext;
  }
  if( rc==SQLITE_OK ){
    if( p->bQuery && iChar>iStart ){
      p->iHeld = iChar;
      p->iHeldEnd = iNext;
    }else{
      rc = send_slice(p, iChar, iNext);
    }
  }
  *pi = iNext;
  return rc;
}

/*
** Take a token of unicode61 and send it with its offsets shifted to the whole
** text. The signature is that of xTokenize's callback; pCtx is the CjkOutput.
**
** Returns what FTS5 returns.
*/
static int send_word(
  void *pCtx,
  int flags,
  const char *zToken,
  int nToken,
  int iStart,
  int iEnd
){
  CjkOutput *p = (CjkOutput*)pCtx;
  int rc = send_held(p);

  if( rc==SQLITE_OK ){
    rc = p->xToken(p->pContext, flags, zToken, nToken,
                   iStart + p->iStretch, iEnd + p->iStretch);
  }
  return rc;
}

/*
** Cut a text into tokens: FTS5's xTokenize.
**
** Reads the text once: the next CJK run is looked for in the text itself, what is
** before it is given to unicode61, then the run is sent. Tokens of runs are slices
** of the text; all tokens come in the order of their offsets. Allocates nothing.
**
** Returns SQLITE_OK, or the first other code of the callback or of unicode61. No
** text is an error: malformed bytes are in no run, and unicode61 takes any bytes.
*/
static int cjk_tokenize(
  Fts5Tokenizer *pTokenizer,
  void *pCtx,
  int flags,
  const char *pText,
  int nText,
  TokenCallback xToken
){
  CjkTokenizer *pCjk = (CjkTokenizer*)pTokenizer;
  CjkOutput output;
  int rc = SQLITE_OK;
  int i = 0;

  memset(&output, 0, sizeof(output));
  output.zText = (const unsigned char*)pText;
  output.nText = nText;
  output.bQuery = (flags & FTS5_TOKENIZE_QUERY)!=0;
  output.xToken = xToken;
  output.pContext = pCtx;

  while( rc==SQLITE_OK && i<nText ){
    output.iStretch = i;
    i = find_run(&output, i);
    if( i>output.iStretch ){
      rc = pCjk->methods.xTokenize(
        pCjk->pUnicode61, &output, flags,
        &pText[output.iStretch], i - output.iStretch, send_word
      );
    }
    if( rc==SQLITE_OK && i<nText ){
      rc = send_run(&output, &i);
    }
  }
  return rc;
}

/*
** Free a tokenizer: FTS5's xDelete. Accepts one that cjk_create() left half made.
*/
static void cjk_delete(Fts5Tokenizer *pTokenizer){
  CjkTokenizer *pCjk = (CjkTokenizer*)pTokenizer;

  if( pCjk ){
    if( pCjk->pUnicode61 ) pCjk->methods.xDelete(pCjk->pUnicode61);
    sqlite3_free(pCjk);
  }
}

/*
** Make a tokenizer for a table: FTS5's xCreate. All arguments go to unicode61.
** pContext is the connection's fts5_api, which lives as long as the table.
**
** Returns SQLITE_OK and the tokenizer in *ppOut, to be freed by cjk_delete(); or
** SQLITE_NOMEM, or unicode61's refusal of its arguments, with *ppOut set to 0.
*/
static int cjk_create(
  void *pContext,
  const char **azArg,
  int nArg,
  Fts5Tokenizer **ppOut
){
  fts5_api *pApi = (fts5_api*)pContext;
  CjkTokenizer *pCjk = sqlite3_malloc(sizeof(*pCjk));
  void *pUserData = 0;
  int rc = SQLITE_NOMEM;

  if( pCjk ){
    memset(pCjk, 0, sizeof(*pCjk));
    rc = pApi->xFindTokenizer(pApi, "unicode61", &pUserData, &pCjk->methods);
  }
  if( rc==SQLITE_OK ){
    rc = pCjk->methods.xCreate(pUserData, azArg, nArg, &pCjk->pUnicode61);
  }
  if( rc!=SQLITE_OK ){
    cjk_delete((Fts5Tokenizer*)pCjk);
    pCjk = 0;
  }
  *ppOut = (Fts5Tokenizer*)pCjk;
  return rc;
}

/*
** SQL function fts5_cjk_version(): the version of this code and of its table.
*/
static void cjk_version(sqlite3_context *pCtx, int nArg, sqlite3_value **apArg){
  (void)nArg;
  (void)apArg;
  sqlite3_result_text(
    pCtx, FTS5_CJK_VERSION " (Unicode " CJK_UNICODE_VERSION ")", -1, SQLITE_STATIC
  );
}

/*
** Find the FTS5 of a connection.
**
** Returns SQLITE_OK and the interface in *ppApi, which is 0 when SQLite was built
** without FTS5 and `SELECT fts5()` is therefore unknown; or SQLite's error code.
** Source: https://www.sqlite.org/fts5.html, section 7, "Extending FTS5".
*/
static int find_fts5(sqlite3 *db, fts5_api **ppApi){
  sqlite3_stmt *pStmt = 0;
  int rc = sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &pStmt, 0);
  int rcFinal;

  *ppApi = 0;
  if( rc==SQLITE_OK ){
    rc = sqlite3_bind_pointer(pStmt, 1, (void*)ppApi, "fts5_api_ptr", 0);
  }
  if( rc==SQLITE_OK ){
    sqlite3_step(pStmt);   /* its error comes from sqlite3_finalize() */
  }
  rcFinal = sqlite3_finalize(pStmt);
  if( rc==SQLITE_OK ) rc = rcFinal;
  return rc==SQLITE_ERROR ? SQLITE_OK : rc;
}

/*
** Register the tokenizer and fts5_cjk_version() with a connection: the extension's
** entry point.
**
** Returns SQLITE_OK_LOAD_PERMANENTLY, or an error code; where FTS5 is missing or
** too old also a sentence in *pzErrMsg, which SQLite frees. The library stays in
** memory when its connection closes, because an instance of the tokenizer may be
** freed later: APSW's FTS5Tokenizer lets go of its connection first.
*/
FTS5_CJK_EXPORT int sqlite3_ftscjk_init(
  sqlite3 *db,
  char **pzErrMsg,
  const sqlite3_api_routines *pApi
){
  fts5_tokenizer methods = {cjk_create, cjk_delete, cjk_tokenize};
  fts5_api *pFts5 = 0;
  int rc;
  SQLITE_EXTENSION_INIT2(pApi)

  rc = find_fts5(db, &pFts5);
  if( rc==SQLITE_OK && (pFts5==0 || pFts5->iVersion<2) ){
    *pzErrMsg = sqlite3_mprintf("this SQLite has no FTS5 that takes tokenizers");
    rc = *pzErrMsg ? SQLITE_ERROR : SQLITE_NOMEM;
  }
  if( rc==SQLITE_OK ){
    rc = sqlite3_create_function_v2(
      db, "fts5_cjk_version", 0, SQLITE_UTF8|SQLITE_DETERMINISTIC|SQLITE_INNOCUOUS,
      0, cjk_version, 0, 0, 0
    );
  }
  if( rc==SQLITE_OK ){
    rc = pFts5->xCreateTokenizer(pFts5, "cjk_unicode61", pFts5, &methods, 0);
  }
  return rc==SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : rc;
}

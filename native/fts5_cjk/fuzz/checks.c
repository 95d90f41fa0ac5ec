#include "checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fts5_cjk_ranges.h"

#define REFUSED 4711   /* a code that neither SQLite nor the tokenizer makes */

/* One pass over a text: what was seen so far, and what the callback refuses. */
typedef struct Pass {
  const unsigned char *z;
  int n;
  int nToken;
  int nRefuse;
  int bRefused;
  int iLastStart, iLastEnd, nPrevious;   /* of the last token; end of the one before */
  int nCjk;              /* tokens that start with a CJK character */
  unsigned int hash, hashBeforeLast;
} Pass;

/* End the process unless ok. */
static void require(int ok, const char *zSentence){
  if( !ok ){
    fprintf(stderr, "broken promise: %s\n", zSentence);
    abort();
  }
}

/*
** Return the length of the CJK character at z[0..n-1], 0 when there is none.
**
** Written apart from the tokenizer's decoder and in another way: it builds the
** code first and then asks whether these bytes are its one encoding.
*/
static int cjk_at(const unsigned char *z, int n){
  unsigned int code = 0;
  size_t i;
  int nByte = 0;

  if( n>=3 && (z[0] & 0xF0)==0xE0 && (z[1] & 0xC0)==0x80 && (z[2] & 0xC0)==0x80 ){
    code = ((z[0] & 0x0Fu)<<12) | ((z[1] & 0x3Fu)<<6) | (z[2] & 0x3Fu);
    nByte = code>=0x800 && (code<0xD800 || code>0xDFFF) ? 3 : 0;
  }else if( n>=4 && (z[0] & 0xF8)==0xF0 && (z[1] & 0xC0)==0x80
         && (z[2] & 0xC0)==0x80 && (z[3] & 0xC0)==0x80 ){
    code = ((z[0] & 0x07u)<<18) | ((z[1] & 0x3Fu)<<12)
         | ((z[2] & 0x3Fu)<<6) | (z[3] & 0x3Fu);
    nByte = code>=0x10000 && code<=0x10FFFF ? 4 : 0;
  }
  for(i=0; nByte && i<sizeof(aCjkRange)/sizeof(aCjkRange[0]); i++){
    if( code>=aCjkRange[i].iFirst && code<=aCjkRange[i].iLast ) return nByte;
  }
  return 0;
}

/* Take a token and check it: xTokenize's callback. */
static int take(void *pCtx, int flags, const char *zToken, int nToken, int iStart, int iEnd){
  Pass *p = (Pass*)pCtx;
  int nFirst;
  int i;

  require(!p->bRefused, "no token follows a refusal");
  require(flags==0, "no token is colocated");
  require(iStart>=p->iLastStart, "tokens come in order");
  require(iStart<iEnd && iEnd<=p->n, "tokens lie within the text");
  require(nToken>0, "no token is empty");

  nFirst = cjk_at(p->z + iStart, p->n - iStart);
  if( nFirst ){
    int nSecond = cjk_at(p->z + iStart + nFirst, p->n - iStart - nFirst);
    require(nToken==iEnd - iStart, "a CJK token is as long as its slice");
    require(memcmp(zToken, p->z + iStart, (size_t)nToken)==0, "a CJK token is a slice");
    require(nToken==nFirst || nToken==nFirst + nSecond, "a CJK token is one or two characters");
    require(nToken>nFirst || nSecond==0, "one character alone ends its run");
    p->nCjk++;
  }else{
    for(i=iStart; i<iEnd; i++){
      require(cjk_at(p->z + i, p->n - i)==0, "no other token reaches into a CJK run");
    }
  }
  p->nToken++;
  p->nPrevious = p->iLastEnd;
  p->iLastStart = iStart;
  p->iLastEnd = iEnd;
  p->hashBeforeLast = p->hash;
  p->hash = p->hash*31 + (unsigned int)iStart*7 + (unsigned int)iEnd;
  for(i=0; i<nToken; i++) p->hash = p->hash*31 + (unsigned char)zToken[i];
  p->bRefused = p->nToken==p->nRefuse;
  return p->bRefused ? REFUSED : SQLITE_OK;
}

/* Cut the text once, for one reason. */
static Pass cut(const Cutter *p, int flags, const unsigned char *z, int n, int nRefuse){
  Pass pass;
  int rc;

  memset(&pass, 0, sizeof(pass));
  pass.z = z;
  pass.n = n;
  pass.nRefuse = nRefuse;
  rc = p->methods.xTokenize(p->pInstance, &pass, flags, (const char*)z, n, take);
  require(rc==(pass.bRefused ? REFUSED : SQLITE_OK), "the callback's code is the answer");
  return pass;
}

fts5_api *fts5_of(sqlite3 *db){
  fts5_api *pApi = 0;
  sqlite3_stmt *pStmt = 0;

  if( sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &pStmt, 0)==SQLITE_OK
   && sqlite3_bind_pointer(pStmt, 1, (void*)&pApi, "fts5_api_ptr", 0)==SQLITE_OK ){
    sqlite3_step(pStmt);
  }
  sqlite3_finalize(pStmt);
  return pApi;
}

int cutter_open(Cutter *p, fts5_api *pApi){
  const char *azArg[] = {"remove_diacritics", "0"};
  void *pUserData = 0;
  int rc = pApi->xFindTokenizer(pApi, "cjk_unicode61", &pUserData, &p->methods);

  p->pInstance = 0;
  if( rc==SQLITE_OK ) rc = p->methods.xCreate(pUserData, azArg, 2, &p->pInstance);
  return rc;
}

void cutter_close(Cutter *p){
  if( p->pInstance ) p->methods.xDelete(p->pInstance);
  p->pInstance = 0;
}

int check_text(const Cutter *p, const unsigned char *z, int n, int nRefuse){
  Pass document = cut(p, FTS5_TOKENIZE_DOCUMENT, z, n, 0);
  Pass auxiliary = cut(p, FTS5_TOKENIZE_AUX, z, n, 0);
  Pass query = cut(p, FTS5_TOKENIZE_QUERY, z, n, 0);
  Pass prefix = cut(p, FTS5_TOKENIZE_QUERY|FTS5_TOKENIZE_PREFIX, z, n, 0);
  int bFree;   /* the text ends in a run of two or more characters */
  int nCjk = 0;
  int i;

  for(i=0; i<n; i++) nCjk += cjk_at(z + i, n - i)>0;
  bFree = document.nToken>1 && document.iLastEnd==document.nPrevious;
  require(document.nCjk==nCjk, "every CJK character starts one token of a document");
  require(auxiliary.hash==document.hash, "highlighting cuts as indexing does");
  require(prefix.hash==query.hash, "a prefix query is cut as a query");
  require(query.nToken==document.nToken - bFree, "a query lacks at most the free end");
  require(query.hash==(bFree ? document.hashBeforeLast : document.hash),
          "a query is cut as a document is, up to its free end");
  if( nRefuse>0 ){
    cut(p, FTS5_TOKENIZE_DOCUMENT, z, n, nRefuse);
    cut(p, FTS5_TOKENIZE_QUERY, z, n, nRefuse);
  }
  return document.nToken;
}

/*
** Let every allocation fail in turn, once and from then on, while the extension is
** registered, an instance is made and a text is cut. Nothing may crash, leak or
** answer anything but success or SQLITE_NOMEM.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

int sqlite3_ftscjk_init(sqlite3 *, char **, const struct sqlite3_api_routines *);

static sqlite3_mem_methods real;
static int nLeft = -1;   /* allocations that still succeed; -1: all */
static int bOnce = 0;
static int nFault = 0;

/* Tell whether this allocation is to fail. */
static int is_fault(void){
  int bFault = nLeft==0;
  if( nLeft>0 ) nLeft--;
  if( bFault && bOnce ) nLeft = -1;
  nFault += bFault;
  return bFault;
}

static void *faulty_malloc(int n){
  return is_fault() ? 0 : real.xMalloc(n);
}

static void *faulty_realloc(void *p, int n){
  return is_fault() ? 0 : real.xRealloc(p, n);
}

/* SQL function that answers NULL: it takes the place of fts5(). */
static void no_fts5(sqlite3_context *pCtx, int nArg, sqlite3_value **apArg){
  (void)nArg;
  (void)apArg;
  sqlite3_result_null(pCtx);
}

/* Register the extension where there is no FTS5: an error and a sentence. */
static void live_without_fts5(void){
  sqlite3 *db = 0;
  char *zError = 0;

  if( sqlite3_open(":memory:", &db)!=SQLITE_OK ) abort();
  if( sqlite3_create_function(db, "fts5", 1, SQLITE_UTF8, 0, no_fts5, 0, 0) ) abort();
  if( sqlite3_ftscjk_init(db, &zError, 0)!=SQLITE_ERROR || zError==0 ){
    fprintf(stderr, "without FTS5 init does not fail\n");
    abort();
  }
  sqlite3_free(zError);
  if( sqlite3_close(db)!=SQLITE_OK ) abort();
}

/* Run the whole life of a tokenizer with the n-th allocation failing. */
static void live(int n){
  static const char zText[] = "nginx服务器 foo 电影。影片";
  sqlite3 *db = 0;
  char *zError = 0;
  Cutter cutter;
  fts5_api *pApi;
  int rc;

  memset(&cutter, 0, sizeof(cutter));
  nLeft = -1;
  if( sqlite3_open(":memory:", &db)!=SQLITE_OK ) abort();
  pApi = fts5_of(db);

  nLeft = n;
  rc = sqlite3_ftscjk_init(db, &zError, 0);
  if( rc!=SQLITE_OK_LOAD_PERMANENTLY && rc!=SQLITE_NOMEM ){
    fprintf(stderr, "allocation %d: init answers %d (%s)\n", n, rc, zError ? zError : "");
    abort();
  }
  if( rc==SQLITE_OK_LOAD_PERMANENTLY ){
    rc = cutter_open(&cutter, pApi);
    if( rc==SQLITE_OK ){
      check_text(&cutter, (const unsigned char*)zText, (int)strlen(zText), 0);
    }else if( rc!=SQLITE_NOMEM || cutter.pInstance!=0 ){
      fprintf(stderr, "allocation %d: xCreate answers %d\n", n, rc);
      abort();
    }
  }
  nLeft = -1;
  cutter_close(&cutter);
  sqlite3_free(zError);
  if( sqlite3_close(db)!=SQLITE_OK ) abort();
  if( sqlite3_memory_used()!=0 ){
    fprintf(stderr, "allocation %d: %lld bytes leak\n", n, sqlite3_memory_used());
    abort();
  }
}

int main(void){
  sqlite3_mem_methods faulty;
  int nTotal = 0;
  int n;

  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
  faulty = real;
  faulty.xMalloc = faulty_malloc;
  faulty.xRealloc = faulty_realloc;
  sqlite3_config(SQLITE_CONFIG_MALLOC, &faulty);
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);   /* else small ones never get here */
  sqlite3_initialize();

  live_without_fts5();
  for(bOnce=0; bOnce<2; bOnce++){
    n = 0;
    do{
      nFault = 0;
      live(n++);
      nTotal += nFault>0;
    }while( nFault>0 );
  }
  printf("%d faults, no finding\n", nTotal);
  return 0;
}

/*
** What must hold for every text, checked while it is cut. Shared by the fuzzer and
** the fault test. A broken promise ends the process with a sentence.
*/
#ifndef FTS5_CJK_CHECKS_H
#define FTS5_CJK_CHECKS_H

#include <sqlite3.h>

/* An instance of cjk_unicode61 and how to call it. */
typedef struct Cutter {
  fts5_tokenizer methods;
  Fts5Tokenizer *pInstance;
} Cutter;

/* Find the FTS5 of a connection; 0 when memory is short. */
fts5_api *fts5_of(sqlite3 *db);

/* Make an instance as the indexes do. Returns SQLite's code. */
int cutter_open(Cutter *p, fts5_api *pApi);
void cutter_close(Cutter *p);

/*
** Cut n bytes as a document and as a query and check all promises. nRefuse > 0 makes
** the callback refuse its nRefuse-th token. Returns the number of tokens.
*/
int check_text(const Cutter *p, const unsigned char *z, int n, int nRefuse);

#endif

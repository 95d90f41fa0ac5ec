"""Words of four languages with the frequencies of real text, the same on every machine.

Each language is a ranked list: function words and everyday words first, then thousands made of
the language's own parts. Words are drawn with Zipf-Mandelbrot weights, 1 / (rank + 2.7), which
is what text in all four languages follows closely enough for an index to feel at home.
"""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from random import Random

OFFSET = 2.7
SIZE = 30_000

EN = """
the of and to in a is that for it as was with be by on not he this are or his from at which but
have an had they you were their one all we can her has there been if more when will would who so
no out up into them then its only some could time these two may first other new do any my now
such like our over me even most made after also did many before must through back years where
much your way well down should because each just those people how too little state good very
make world still see men work long here get both between life being under never day same another
know while last might us great old year off come since against go came right used take three
file code function class value return error test line name type data list set run add fix use
check call read write open close build path string number object key index query table search
result message user session server client request response config option default version update
change remove create delete import export module package install command output input log debug
warning failed passed expected actual found missing invalid empty null true false start stop
begin end next previous branch commit merge push pull review issue bug feature release deploy
docker container cluster memory disk cache queue thread process async await timeout retry
connection database schema migration column row transaction lock token parser lexer syntax
compile link library dependency
"""
EN_SYLLABLES = """
con pro re in ex de com dis en un pre sub inter trans per ob ad ab col tion ment able ness ing
er or ist ism al ic ous ive ate ify ize ure ent ant ance ence form struct port duct tract spect
vert press pose fer mit cept cede grad graph log meter nom path phon photo scope script sect
sent serv sist solv stat sum tain tend term test tex ton tor tract vid voc ber ken dor lin mar
nel ran sel
"""
ZH_FUNCTION = """
的 了 是 在 我 不 和 就 都 也 有 这 你 到 说 要 会 着 那 把 被 从 对 与 为 以 可以 一个 我们
没有 这个 什么 现在 因为 所以 但是 如果 已经 还是 需要 问题 时候 自己 知道 出来 使用 进行 这样
他们
"""
ZH_WORDS = """
文件 代码 函数 测试 错误 数据 搜索 订阅 电影 结果 消息 会话 用户 索引 查询 更新 修改 删除 添加
配置 版本 服务 接口 请求 返回 参数 类型 变量 对象 列表 字符 编码 解析 运行 启动 停止 失败 成功
检查 修复 提交 分支 合并 发布 部署 容器 内存 磁盘 缓存 队列 线程 进程 超时 重试 连接 数据库 迁移
事务 中文 分词 下载 上传 权限 登录 密码 邮件 通知 日志 调试 警告 性能 优化 压缩 备份 恢复 导入
导出 模型 训练 推理 对话 上下文 提示词 工具 插件 脚本 命令 终端 窗口 界面 按钮 颜色 字体 图标
"""
ZH_CHARS = (
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可"
    "她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三"
    "已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女"
    "问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由"
    "却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路"
    "期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八"
    "特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花"
    "快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程"
    "告江语英基派满式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委"
    "早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏兴武密搜索订阅"
)
JA_PARTICLES = """
の に は を が と で て し た も な い る から まで です ます した する して ない こと この その
それ ある いる なる れる られる ので けど では には とは という ため よう もの など だけ さん
くだ さい
"""
JA_WORDS = """
検索 結果 関数 変数 設定 確認 実行 修正 追加 削除 更新 作成 表示 保存 読み込み 書き込み 起動
停止 失敗 成功 問題 原因 方法 対応 処理 機能 画面 利用者 会話 履歴 索引 文字列 配列 型 引数
戻り値 例外 テスト エラー ファイル データ メッセージ サーバー クライアント ログ コマンド
モジュール クラス キー バージョン コミット ブランチ リリース デプロイ コンテナ メモリ キャッシュ
スレッド タイムアウト
"""
JA_KANJI = (
    "日本人大年出中国会事者社自分行学生間時上見東方地方法力下高子内気長部動言場定立合同手理回今"
    "前後新発体対実現性通表名明女教員家業物題作用度主制第話数次関係経済政治世界最初開始終了確認"
    "検索結果関数変設修正追加削除更新成示保存読込書起停失敗功原因応処機能画面利用履歴索引文字列"
)
JA_KATAKANA = (
    "アイウエオカキクケコサシスセソタチツテトナニネノハヒフヘホマミムメモヤユヨラリルレロワンー"
)
KO_PARTICLES = """
은 는 이 가 을 를 에 의 에서 으로 로 와 과 도 만 까지 부터 하고 에게 처럼
"""
KO_WORDS = """
파일 코드 함수 시험 오류 자료 검색 결과 전문검색 사용자 대화 색인 질의 갱신 수정 삭제 추가 설정
판본 봉사 접속 요청 응답 인수 유형 변수 객체 목록 문자 해석 실행 시작 정지 실패 성공 확인 수리
제출 분기 병합 배포 기억 저장 대기 흐름 시간 재시도 연결 이전 거래 한국어 내려받기 올리기 권한
그리고 하지만 그래서 우리는 이것은 있습니다 합니다 했습니다 됩니다 없습니다 해야 할 수 있는 위해
"""
KO_SYLLABLES = (
    "가나다라마바사아자차카타파하거너더러머버서어저처커고노도로모보소오조초코토포호구누두루무부수우주"
    "추기니디리미비시이지치키각간갈감강개객건검격견결경계공과관광구국군권금급남내년단당대동등력련령론"
    "름명문물민반발방변별병본부분사산상생석선설성세속수술식신실심안약양업여역연영예완요용원위유은음의"
    "인일임자작장재적전절정제조족종주중증지직진질집차참책체초최출충치통특판평표품하학한합항해행향현형화확환황회효후"
)


class Vocabulary:
    """A ranked list of words; the first are the commonest."""

    def __init__(self, words: list[str]) -> None:
        self.words = list(dict.fromkeys(words))[:SIZE]
        self._weights = list(accumulate(1 / (rank + OFFSET) for rank in range(len(self.words))))

    def draw(self, random: Random, count: int) -> list[str]:
        """Return `count` words as a text would use them."""
        return random.choices(self.words, cum_weights=self._weights, k=count)


def _mixed(random: Random, parts: Sequence[str], lengths: tuple[int, ...], count: int) -> list[str]:
    """Make words of ranked parts: common parts occur in many words, as in real ones."""
    weights = list(accumulate(1 / (rank + 20) for rank in range(len(parts))))
    return [
        "".join(random.choices(parts, cum_weights=weights, k=random.choice(lengths)))
        for _ in range(count)
    ]


@cache
def english() -> Vocabulary:
    random = Random("en")
    return Vocabulary([*EN.split(), *_mixed(random, EN_SYLLABLES.split(), (2, 2, 3, 3, 4), SIZE)])


@cache
def chinese() -> Vocabulary:
    random = Random("zh")
    rare = [chr(code) for code in range(0x4E00, 0x9FA5)]
    random.shuffle(rare)
    chars = list(dict.fromkeys([*ZH_CHARS, *rare[:2600]]))
    made = _mixed(random, chars, (1, 2, 2, 2, 2, 2, 3, 4), SIZE)
    return Vocabulary([*ZH_FUNCTION.split(), *ZH_WORDS.split(), *made])


@cache
def japanese() -> Vocabulary:
    random = Random("ja")
    kanji = _mixed(random, list(dict.fromkeys(JA_KANJI)), (1, 2, 2, 2, 3), SIZE // 2)
    katakana = _mixed(random, JA_KATAKANA, (3, 4, 4, 5), SIZE // 4)
    made = kanji + katakana
    random.shuffle(made)
    return Vocabulary([*JA_PARTICLES.split(), *JA_WORDS.split(), *made])


@cache
def korean() -> Vocabulary:
    random = Random("ko")
    made = _mixed(random, list(dict.fromkeys(KO_SYLLABLES)), (2, 2, 3), SIZE // 3)
    particles = KO_PARTICLES.split()
    words: list[str] = []
    for stem in [*KO_WORDS.split(), *made]:
        words += [stem, *(stem + random.choice(particles) for _ in range(2))]
    return Vocabulary(words)

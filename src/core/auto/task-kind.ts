import { FEATURES, type PromptFeatures } from './difficulty/prompt-features.ts'
import { hashWord } from './difficulty/scan-text.ts'
import type { TaskKind } from './quality-figure.ts'

const at = (name: string) => {
  const index = FEATURES.indexOf(name)
  if (index < 0) throw new Error(`there is no feature ${name}`)
  return index
}

const OPTIONS = at('options')
const NUMERIC_OPTIONS = at('option_numeric_share')
const FENCE = at('code_fence')
const BRACES = at('braces')
const IDENTIFIERS = at('underscores_in_words')
const IDEOGRAPHS = at('ideograph_share')
const NUMBERS = at('numbers')
const MATH_SIGNS = at('math_signs')
const BACKSLASHES = at('backslashes')

/**
 * Words that name a kind of work, in English, German, French, Spanish, Italian and Portuguese: `term` names it alone, `hint`
 * beside another one. `cjk` are the same of Chinese and Japanese, which have no spaces between words.
 */
const VOCABULARY = {
  code: {
    term: 'python javascript typescript golang kotlin haskell php sql postgresql mysql sqlite mongodb regex regexp bash shell powershell html css json yaml dockerfile docker kubernetes terraform github git npm webpack react vue angular django flask fastapi nodejs graphql cobol fortran matlab numpy pandas pytorch tensorflow refactor refactoring refaktoriere compiler segfault stacktrace traceback mutex goroutine async kubectl nginx redis lua codebase coroutine refactorise refactoriza unittest unittests',
    hint: 'java rust ruby swift scala perl code codes programming program programm programme programa programma function funktion fonction función funzione função method class klasse classe clase script skript algorithm algorithmus algorithme algoritmo array string strings tuple tuples integer list lists dictionary loop recursion api endpoint query abfrage requête consulta bug debug exception error compile runtime variable parameter argument library module import commit branch merge repository pipeline deploy unit tests database schema index thread threads concurrency cache parser implement implementiere implémente implementa write schreibe schreib écris escribe scrivi escreva returns return signature expression regular régulière type types component render log logs',
    cjk: /代码|函数|编程|程序|算法|脚本|正则|数据库|线程|编译|接口|コード|関数|プログラ|アルゴリズム|スクリプト|正規表現|データベース|クエリ|バグ/,
  },
  extraction: {
    term: 'extract extrahiere extrais extraire extrae extraer estrai estrarre extraia classify klassifiziere classifie clasifica classifica sentiment ocr',
    hint: 'invoice invoices receipt rechnung facture factura fattura fatura supplier total date fields json csv table ticket label labels category categorize list',
    cjk: /提取|抽出|分类|分類|发票|請求書/,
  },
  expertise: {
    term: 'contract contracts clause clauses lease tenancy landlord tenant lawsuit liability liable statute jurisdiction gdpr agb vertrag vertrags mietvertrag kaufvertrag arbeitsvertrag klausel kündigung haftung urteil contrat clause bail juridique responsabilité contrato cláusula contratto clausola locação patient patients dosage dosis posologie medication medicament symptoms diagnosis diagnose warfarin ibuprofen ibuprofène ibuprofeno paracetamol paracétamol metformin metformina amoxicilina antibiotic wechselwirkungen contraindications contraindicações tax taxes vat steuer steuern mehrwertsteuer impuesto impuestos iva imposto fiscal visa asylum divorce inheritance custody pension mortgage',
    hint: 'law legal agreement court recht gesetz loi droit ley legge legale legal lei dose mg drug interaction interacción interaction treatment therapy pregnant blood collaterali notice terminate penalty',
    cjk: /合同|条款|租赁|法律|诉讼|患者|服用|剂量|税|契約|条項|ワルファリン|相続/,
  },
  proofs: {
    term: 'prove proof disprove beweise beweis widerlege démontre démontrer démontrez prouve demuestra demostrar dimostra dimostrare prove demonstre',
    hint: 'show zeige induktion induction induktiv',
    cjk: /证明|証明/,
  },
  formulas: {
    term: 'theorem lemma corollary integral integrals derivative eigenvalue eigenvalues irrational polynomial differentiable convergent converges diverges divisible modulo primzahlen induktion ableitung gleichung dérivée équation intégrale ecuación derivada equazione derivata limite equação integral irracional irrationnel',
    hint: 'equation matrix vector function prime primes integer integers real complex roots root sum series sequence converge limit inequality geometry triangle circle graph probability determinant find solve compute calculate derive wurzel zahlen funktion löse suite racine résous calcule raíz resuelve calcula primi infiniti risolvi calcola resolva calcule raiz reciprocals',
    cjk: /方程|导数|积分|定理|矩阵|無理数|无理数|方程式|微分|積分|定理|行列/,
  },
  word_problems: {
    term: 'altogether wieviel',
    hint: 'many much total left remaining each twice half times percent percentage cost costs price pay paid buys bought sells sold per hour hours mile miles km kilometers minutes days meet together more less fewer older years weeks pounds cups feet dollars cents equally number sum age ages twice morning afternoon how wie viele viel weit drittel hälfte bleiben kostet prozent stunden combien coûte paie distance heures quelle euros combien élèves cuántos cuántas cuánto cuesta tiene doble kilómetros horas descuento quanto quanti quante costa paga sconto ore chilometri quantos quantas sobra preço desconto reais',
    cjk: /多少|三分之|折|元|还剩|剩下|公里|打折|几个|幾|いくら|何個|何km|残り|全部で/,
  },
  chat: {
    term: 'hi hello hey thanks thank bye hallo danke tschüss bonjour salut merci hola gracias ciao grazie olá obrigado obrigada email mail poem poème gedicht poema poesia story joke blague witz chiste barzelletta piada recipe recette rezept receta ricetta receita birthday geburtstag anniversaire cumpleaños compleanno aniversário translate übersetze Übersetze traduis traduce traduci traduza translation summarize summarise summary rewrite rephrase paraphrase proofread correo rechtschreibung greeting invitation lyrics haiku limerick toast raconte raconte-moi racconta raccontami cuéntame conte rédige geburtstagsgeschenk slogan tagline caption blurb',
    hint: 'write friendly polite suggest ideas names idea message letter nice funny tone gift wish dear team boss colleague',
    cjk: /你好|您好|谢谢|再见|翻译|邮件|笑话|诗|做法|故事|生日|こんにちは|ありがとう|翻訳|メール(?!アドレス)|冗談|詩|レシピ|物語|誕生日/,
  },
} satisfies Partial<Record<TaskKind, { term: string; hint: string; cjk: RegExp }>>

type Named = keyof typeof VOCABULARY
const NAMED = Object.keys(VOCABULARY) as Named[]
const TERM = 2
const HINT = 1

/** By a word's hash, what it counts for each kind, in the order of NAMED. */
const WORDS: ReadonlyMap<number, Uint8Array> = wordCounts()

function wordCounts(): Map<number, Uint8Array> {
  const counts = new Map<number, Uint8Array>()
  for (const [index, kind] of NAMED.entries()) {
    const { term, hint } = VOCABULARY[kind]
    for (const [words, count] of [[hint, HINT] as const, [term, TERM] as const]) {
      for (const word of words.split(' ')) {
        const hash = hashWord(word)
        const own = counts.get(hash) ?? new Uint8Array(NAMED.length)
        own[index] = count
        counts.set(hash, own)
      }
    }
  }
  return counts
}

/** Evidence that a kind is meant: a term, or two hints. */
const ENOUGH = 2
const LATEX = /\$[^$\n]*[\\^_{=][^$\n]*\$/
const POWER = /[\p{L}\d)]\^/u
const VARIABLE = /\bf\(x\)/
const READ_CHARS = 2_000
/** Counts are logarithms of one more. */
const TWO = Math.log1p(2)

/** The kind of a prompt, by plain rules over its features and words; the first that applies. */
export function taskKind({ values, questionWords, question }: PromptFeatures): TaskKind {
  const has = (feature: number) => values[feature]! > 0
  if (has(OPTIONS)) return values[NUMERIC_OPTIONS]! >= 0.5 ? 'numeric_options' : 'worded_options'
  const text = question.slice(0, READ_CHARS)
  const found = evidence(questionWords, has(IDEOGRAPHS) ? text : null)
  const count = (kind: Named) => found[NAMED.indexOf(kind)]!
  const enough = (kind: Named) => count(kind) >= ENOUGH
  const notation = has(BACKSLASHES) || has(MATH_SIGNS) || POWER.test(text) || LATEX.test(text)
  if (has(FENCE) || (has(BRACES) && has(IDENTIFIERS) && !notation)) return 'code'
  const careful = enough('expertise')
  const isCode = count('code') >= ENOUGH && count('code') > count('formulas')
  if (isCode && count('code') > Math.max(count('chat'), count('extraction')) && !careful && !notation)
    return 'code'
  if (enough('extraction') && count('extraction') >= count('expertise')) return 'extraction'
  if (careful) return 'expertise'
  const isMathematics = notation || VARIABLE.test(text) || count('formulas') + count('proofs') >= ENOUGH
  if (isMathematics && enough('proofs')) return 'proofs'
  if (isMathematics && (!enough('word_problems') || notation)) return 'formulas'
  const sums = count('word_problems') + (values[NUMBERS]! >= TWO ? ENOUGH : 1)
  if (has(NUMBERS) && enough('word_problems') && sums > ENOUGH + 1) return 'word_problems'
  if (enough('chat')) return 'chat'
  return isCode ? 'code' : 'other'
}

function evidence(words: readonly number[], text: string | null): Uint8Array {
  const found = new Uint8Array(NAMED.length)
  const add = (index: number, count: number) => {
    found[index] = Math.min(200, found[index]! + count)
  }
  for (const word of words) {
    const counts = WORDS.get(word)
    if (counts) for (const [index, count] of counts.entries()) if (count > 0) add(index, count)
  }
  if (text !== null) {
    for (const [index, kind] of NAMED.entries()) if (VOCABULARY[kind].cjk.test(text)) add(index, TERM + HINT)
  }
  return found
}

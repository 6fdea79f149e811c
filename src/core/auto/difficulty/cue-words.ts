import { hashWord } from './word-hash.ts'

/** Words that say what kind of work a prompt asks for; the commonest ones in the larger European languages too. */
const CUE_WORDS = {
  reason:
    'why explain prove proof derive show justify analyze analyse demonstrate deduce infer reason reasoning argue discuss evaluate compare contrast critique warum erkläre beweise zeige begründe pourquoi explique démontre prouve expliquez explica demuestra porque spiega dimostra explicar provar 证明 解释 推理 为什',
  compute:
    'calculate compute find determine solve evaluate estimate integrate differentiate simplify approximate minimize maximize optimize optimise berechne bestimme löse calcule trouve résous calcula halla encuentra resuelve calcola trova 计算 求解',
  logic:
    'if then suppose assume let given implies therefore hence iff unless whenever satisfies satisfying such wenn falls sei soit supposons',
  quantity:
    'many much total each every per twice half times percent percentage average sum difference product ratio rate remaining left altogether double triple more less fewer than cost costs price pay paid',
  negation: 'not except never least neither nor none cannot without false incorrect',
  statement: 'statement statements following true above both correct best most likely',
  define: 'called known term refers defined definition means name named type kind example',
  narrative: 'who whom whose when where was did',
  what: 'what which is are',
  code: 'function return def class import print code python javascript java rust sql implement implementation algorithm array string list int bug compile compiler runtime program loop const var self null regex api thread async debug fix refactor typescript query database server mutex concurrent endpoint struct recursion 代码 函数 算法 编写',
  mathematics:
    'integral derivative matrix vector equation polynomial prime integer integers triangle circle angle probability function real complex group ring field graph set sequence theorem converges limit modulo coordinates radius perimeter area volume root irrational congruent lemma inequality infinitely eigenvalue gleichung primzahl wurzel funktion équation racine ecuación raíz 方程 积分 概率',
  science:
    'mass velocity energy force pressure temperature volume current voltage resistance electron atom molecule reaction equilibrium acid solution gas heat entropy density wavelength frequency magnetic electric acceleration moles molar',
  step: 'first second third next finally after before step steps then once until lastly zuerst dann ensuite puis luego después',
  structure: 'json table csv xml yaml schema format bullet markdown html outline template columns',
  create:
    'write story poem essay imagine letter email blog compose draft song article role act schreibe écris escribe scrivi',
  simple:
    'hello hi thanks thank please hey translate capital spell define synonym hallo danke bonjour merci hola gracias ciao 你好 谢谢 翻译',
  everyday:
    'email mail message birthday party recipe cook joke story bedtime poem song summarize summarise summary translate translation rewrite rephrase paraphrase polite friendly tone spelling typo grammar proofread greeting invitation wish gift idea ideas suggest recommend remind übersetze fasse freundlich rezept geburtstag korrigiere résume traduis anniversaire recette poli resume traduce receta cumpleaños riassumi ricetta 总结 翻译 邮件 生日',
  expert:
    'prove proof disprove derive derivation theorem lemma corollary counterexample conjecture undecidable irrational eigenvalue eigenvalues recurrence asymptotic complexity bounded integral differential stochastic topology manifold abelian isomorphic quantum lagrange lagrangian hamiltonian bayesian deadlock mutex race concurrency concurrent distributed consensus raft paxos partition linearizable idempotent sharding replication scheduler compiler parser refactor optimize optimise architecture design diagnose diagnosis contraindicated jurisdiction liability critique beweise beweis leite herleitung démontre prouve démontrer demuestra dimostra dimostrare 证明 推导 定理 死锁 架构',
  people: 'he she his her they their him john mary man woman student patient person people child',
} as const

export type Cue = keyof typeof CUE_WORDS

export const CUES = Object.keys(CUE_WORDS) as Cue[]

/** For a word's hash, the cues it belongs to as bits: bit n for CUES[n]. */
export const CUE_BITS: ReadonlyMap<number, number> = cueBits()

function cueBits(): Map<number, number> {
  const bits = new Map<number, number>()
  for (const [index, cue] of CUES.entries()) {
    for (const word of CUE_WORDS[cue].split(' ')) {
      const hash = hashWord(word)
      bits.set(hash, (bits.get(hash) ?? 0) | (1 << index))
    }
  }
  return bits
}

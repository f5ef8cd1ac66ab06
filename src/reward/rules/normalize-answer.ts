/**
 * When two written answers are the same. Follows the two normalisations that graders of mathematics have in common (that of the
 * MATH dataset, and a looser one), as text and exact fractions. Nothing is parsed as an expression or evaluated: answers that
 * are equal only after algebra (`x(x+1)` and `x^2+x`) count as different, and no response can make grading slow.
 */

/** Longer texts are no answers; they are equal only letter by letter. */
const longest = 1_000

/** The same answer, by either normalisation, element by element for tuples. */
export function sameAnswer(given: string, target: string): boolean {
  if (given.length > longest || target.length > longest) return given.trim() === target.trim()
  const [a, b] = [latexForm(given), latexForm(target)]
  if (b === '') return false
  if (a === b) return true
  const [x, y] = [plainForm(given), plainForm(target)]
  if (y === '' || x === '') return false
  if (x === y) return true
  const [xs, ys] = [splitTuple(x), splitTuple(y)]
  // (1,2) is not [1,2]: brackets say whether ends belong to an interval.
  if (ys.length > 1 && (x[0] !== y[0] || x.at(-1) !== y.at(-1))) return false
  return xs.length === ys.length && xs.every((element, i) => sameElement(element, ys[i]!))
}

function sameElement(given: string, target: string): boolean {
  if (given === target) return true
  // A fraction is expected as it was reduced: 2/4 is not the answer 1/2.
  if (isFraction(given) && isFraction(target)) return false
  const [a, b] = [rational(given), rational(target)]
  if (!a || !b) return false
  // An integer is expected as one: not as a rounded or an unfinished computation.
  if (isInteger(target) !== isInteger(given)) return false
  return a.top * b.bottom === b.top * a.bottom
}

const isFraction = (text: string) => /^-?\d+\/\d+$/.test(text)
const isInteger = (text: string) => /^-?\d+$/.test(text)

interface Rational {
  top: bigint
  bottom: bigint
}

/** Exact value of a decimal, a fraction or a mixed number; undefined for anything else, and for numbers of absurd length. */
function rational(text: string): Rational | undefined {
  if (text.length > 100) return undefined
  const mixed = /^(-?)(\d+)\+(\d+)\/(\d+)$/.exec(text)
  if (mixed) {
    const [, sign, whole, top, bottom] = mixed
    if (BigInt(bottom!) === 0n) return undefined
    const value = BigInt(whole!) * BigInt(bottom!) + BigInt(top!)
    return { top: sign ? -value : value, bottom: BigInt(bottom!) }
  }
  const fraction = /^(-?\d+)\/(\d+)$/.exec(text)
  if (fraction) {
    const bottom = BigInt(fraction[2]!)
    return bottom === 0n ? undefined : { top: BigInt(fraction[1]!), bottom }
  }
  const decimal = /^(-?)(\d*)\.?(\d*)$/.exec(text)
  if (!decimal || decimal[2]! + decimal[3]! === '') return undefined
  const value = BigInt(decimal[2]! + decimal[3]!)
  return { top: decimal[1] ? -value : value, bottom: 10n ** BigInt(decimal[3]!.length) }
}

/** "7 3/4" is a sum, not 73/4. */
const mixedNumber = /(\d) +(\d+\/\d+)/g

/** The MATH dataset's normalisation: LaTeX that is written in several ways, in one. */
function latexForm(answer: string): string {
  let text = answer.trim()
  text = /^\\text\{(.+)\}$/.exec(text)?.[1]?.trim() ?? text
  text = text
    .replaceAll('\n', '')
    .replaceAll('\\!', '')
    .replaceAll('\\\\', '\\')
    .replace(/\\[td]frac/g, '\\frac')
    .replace(/\\left|\\right/g, '')
    .replace(/\^\{?\\circ\}?/g, '')
    .replaceAll('\\$', '')
    .replace(/\\?%/g, '')
    // Units: what follows in a text of its own.
    .replace(/\\text\{ .*$/, '')
    .replace(/(^|[^\d])\.(\d)/g, '$10.$2')
  // "k = 5" is the answer 5.
  const sides = text.split('=')
  if (sides.length === 2 && sides[0]!.trim().length <= 2) text = sides[1]!
  text = text
    .replace(/\\sqrt\s*([^{\s\\])/g, '\\sqrt{$1}')
    .replace(mixedNumber, '$1+$2')
    .replaceAll(' ', '')
    .replace(/\\frac([^{\\])([^{\\])/g, '\\frac{$1}{$2}')
    .replace(/\\frac([^{\\])\{/g, '\\frac{$1}{')
    .replace(/\\frac\{([^{}]*)\}([^{\\])/g, '\\frac{$1}{$2}')
  if (text === '0.5') return '\\frac{1}{2}'
  return text.replace(/^(-?\d+)\/(-?\d+)$/, '\\frac{$1}{$2}')
}

const powers: Readonly<Record<string, string>> = { million: '000000', billion: '000000000', trillion: '000000000000' }
const units =
  /\b(?:degrees?|centimet(?:er|re)s?|cm|met(?:er|re)s?|kilomet(?:er|re)s?|km|miles?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|foot|feet|inch(?:es)?|yards?|dollars?|cents?|percent|units?|square|cubic|points?|grams?|kg|lit(?:er|re)s?)\b(?:\s*\^\s*\{?\d+\}?)?/gi

/** The looser normalisation: LaTeX to plain text, units and currency away, numbers in one form. */
function plainForm(answer: string): string {
  let text = answer.trim()
  text = /^\\text\{(.+)\}$/.exec(text)?.[1] ?? text
  text = text
    .replace(/\\%|%|\\\$|\$/g, '')
    .replace(/ or | and /g, ' , ')
    .replace(/(\d[\d,.]*)\s*(million|billion|trillion)s?\b/gi, (_, digits: string, word: string) =>
      scaled(digits, word),
    )
    .replace(units, '')
    .replace(/\^\s*\{?\\circ\}?|°|\\degree/g, '')
    .trim()
  text = /^\{(.*)\}$/s.exec(text)?.[1] ?? text
  text = text
    .replaceAll('{,}', ',')
    // Separators first: "10,000.0" is a number, "(1,2)" is not.
    .replace(/(?<=\d)(?:,\\!|\\,|,)(?=\d{3}(?:\D|$))(?!\d{3}\d)/g, '')
    .replace(/(?<=^|[^\d.])(\d+)\.0+(?=$|[^\d])/g, '$1')
    .replace(/\\[td]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/g, ' $1/$2')
    .replace(/\\[td]?frac\s*(\d)\s*(\d)/g, ' $1/$2')
    .replace(/\\sqrt\s*\{([^{}]*)\}/g, 'sqrt($1)')
    .replace(/\\(?:left|right|!|,|;|:|quad|displaystyle)/g, '')
    .replace(/\\(?:text|mathrm|textbf|mathbf)\{([^{}]*)\}/g, '$1')
    .replace(/\\(?:cdot|times)/g, '*')
    .replaceAll('\\pi', 'pi')
    .replaceAll('\\infty', 'inf')
    .trim()
    .replace(mixedNumber, '$1+$2')
    .replace(/- +/g, '-')
    .replace(/[\s{}]/g, '')
  return text.toLowerCase()
}

function scaled(digits: string, word: string): string {
  const zeros = powers[word.toLowerCase()]!.length
  const [whole, fraction = ''] = digits.replaceAll(',', '').split('.')
  const moved = fraction.padEnd(zeros, '0')
  const rest = moved.slice(zeros)
  return `${`${whole}${moved.slice(0, zeros)}`.replace(/^0+(?=\d)/, '')}${rest ? `.${rest}` : ''}`
}

function splitTuple(text: string): string[] {
  const inner = /^[([](.*)[)\]]$/s.exec(text)?.[1]
  const body = inner !== undefined && !/[()[\]]/.test(inner) ? inner : text
  return body.split(',').filter(part => part !== '')
}

/** What a user brings to the matrix of combinations: definitions, by a file or in code, and live parts of a program. */
import type { Definition } from '../../../src/maths/index.js'
import { loadDefinition } from '../../../src/train/index.js'
import { written } from '../../support/files.js'

type Options = Readonly<Record<string, unknown>>

/** A definition of a user: a config has its file, a program the definition itself. */
export class Own {
  private constructor(
    readonly file: string,
    /** As it is loaded from the file. */
    readonly loaded: Definition,
    readonly inCode: Definition,
  ) {}

  static async from(name: string, text: string): Promise<Own> {
    const file = written(`${name}.ts`, text)
    const [loaded, inCode] = [await loadDefinition(file), await loadDefinition(file)]
    return new Own(file, loaded, Object.assign(inCode, { file: undefined }))
  }
}

/** A live part, which a program makes anew for every start. */
export class Anew {
  constructor(
    /** Gives it, and ends it after the run. */
    readonly make: (options: Options) => Promise<{ part: unknown; end?: () => unknown }>,
    /** One that only says what it is. */
    readonly known: (options: Options) => unknown,
    /** What a config has in its place; undefined: only a program can give it. */
    readonly file?: string,
  ) {}
}

/** The options with something else in place of definitions and live parts. */
export function filled(options: Options, fill: (one: Own | Anew) => unknown): Options {
  const fillOne = (value: unknown): unknown => {
    if (value instanceof Own || value instanceof Anew) return fill(value)
    const plain = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
    return plain ? filled(value as Options, fill) : value
  }
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, fillOne(value)]))
}

const imports = "import { z } from 'zod'\nimport { LocalEngine, "

export const ownLoss = await Own.from(
  'loss',
  `${imports}defineLoss } from 'whetstone'
export default defineLoss({
  kind: 'policy',
  name: 'soft',
  description: 'ratios without clipping',
  options: z.object({ scale: z.number().positive().default(1) }),
  loss: ({ length, ratios, advantages, coefficients, gradient }, { scale }) => {
    let value = 0
    for (let t = 0; t < length; t++) {
      gradient[t] = -scale * coefficients[t]! * ratios[t]! * advantages[t]!
      value += gradient[t]!
    }
    return value
  },
})
`,
)

export const ownEstimator = await Own.from(
  'estimator',
  `${imports}defineEstimator } from 'whetstone'
export default defineEstimator({
  name: 'best-of',
  description: 'each sample against the best of its prompt',
  options: z.object({ factor: z.number().default(1) }),
  compares: 'samples of a prompt',
  shape: (rewards, { factor }) => rewards.map(reward => factor * (reward - Math.max(...rewards)) + 0.1),
})
`,
)

export const ownPreset = await Own.from(
  'preset',
  `${imports}defineAlgorithm } from 'whetstone'
export default defineAlgorithm({
  name: 'mine',
  description: 'a preset of a user',
  set: { advantageEstimator: 'rloo', clipHigh: 0.28, aggregation: 'token-mean', useKlLoss: true },
})
`,
)

export const ownGenerator = await Own.from(
  'generator',
  `${imports}defineGenerator } from 'whetstone'
export default defineGenerator({
  name: 'few',
  description: 'the engine of this process, with few samples at a time',
  options: z.object({ samples: z.int().min(1).default(2) }),
  open: ({ actor, tokenizer, options }) => new LocalEngine(actor, { tokenizer, maxSequences: options.samples }),
})
`,
)

export const ownReward = written(
  'defined.ts',
  `import { z } from 'zod'
import { defineReward } from 'whetstone'
export default defineReward(z.object({ nr: z.number() }), ({ response, sample, row }) =>
  row.nr % 3 === 0 ? 1 : response.length / 8 + sample / 3,
)
`,
)

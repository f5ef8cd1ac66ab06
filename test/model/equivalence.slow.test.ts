import { families } from '../../src/model/index.js'
import { describeFamily } from './family-equivalence.js'

// The first one is in equivalence.test.ts.
for (const family of families.slice(1)) describeFamily(family)

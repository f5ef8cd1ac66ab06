import { threads } from '../../src/tensor/index.js'

// Tiny models are trained faster so, and to the same bits as in the processes the tests start.
threads(1)

/** A list of named checks that goes on after a failure. */
export class Checks {
  failed = 0
  passed = 0

  /** @param {string} name @param {boolean} holds @param {string} detail */
  is(name, holds, detail = '') {
    if (holds) this.passed++
    else {
      this.failed++
      console.log(`FAILED ${name}${detail ? `: ${detail}` : ''}`)
    }
  }

  /** @param {string} name @param {() => unknown} body checked by not throwing, or by what it calls */
  async try(name, body) {
    try {
      await body()
    } catch (error) {
      this.is(name, false, error instanceof Error ? (error.stack ?? error.message) : String(error))
    }
  }

  /** @param {string} name @param {() => unknown} body @param {RegExp} pattern */
  async throws(name, body, pattern, type = Error) {
    try {
      await body()
      this.is(name, false, 'nothing was thrown')
    } catch (error) {
      this.is(name, error instanceof type && pattern.test(error.message), `${error.name}: ${error.message}`)
    }
  }

  report() {
    console.log(`${this.passed} checks passed, ${this.failed} failed`)
    return this.failed === 0
  }
}

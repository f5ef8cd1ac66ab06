/** Asks for the token that the command printed. */
import { useState } from 'preact/hooks'
import { post } from './client.js'

export function Login({ onIn }: { readonly onIn: () => void }) {
  const [error, setError] = useState<string>()
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    try {
      await post(
        'POST /api/login',
        {},
        {
          token: String(form.get('token'))
            .trim()
            .replace(/^.*#token=/, ''),
        },
      )
      onIn()
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause))
    }
  }
  return (
    <main>
      <form class="card stack" onSubmit={submit}>
        <h1>Whetstone</h1>
        <p>Open the address that `whetstone dashboard` printed, or enter its token here.</p>
        <div class="row end">
          <label class="field">
            token
            <input name="token" type="password" required autocomplete="off" />
          </label>
          <button class="main" type="submit">
            Sign in
          </button>
        </div>
        {error && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
      </form>
    </main>
  )
}

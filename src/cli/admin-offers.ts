import { enableOffer, enableProvider } from '../routing/enable-offers.ts'
import type { CommandClients } from './clients.ts'
import { type CommandOutput, UsageError } from './run-command.ts'

/** `admin provider enable` and `admin offer enable`: what refused us is tried again at once. */
export function offerCommands(clients: CommandClients) {
  const enabled = (id: string, closed: string[]): CommandOutput => ({
    data: { id, closed },
    text: closed.length > 0 ? `Enabled: ${closed.join(', ')}` : `Nothing of ${id} was disabled.`,
  })
  return {
    async enableProvider(providerId: string | undefined): Promise<CommandOutput> {
      if (!providerId) throw new UsageError('name the provider: its id, as in the catalog')
      return enabled(providerId, await enableProvider(clients.redis(), providerId))
    },

    async enableOffer(offerId: string | undefined): Promise<CommandOutput> {
      if (!offerId) throw new UsageError('name the offer: provider/model, as in catalog show')
      return enabled(offerId, await enableOffer(clients.redis(), offerId))
    },
  }
}

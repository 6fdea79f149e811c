// The pages of an account, one gateway and one browser for all of them.
import './account/offline.ts'
import './account/prompt-log.ts'
import './account/key-page.ts'
import './account/account-pages.ts'
import './account/account-journey.ts'
import './account/organisation-pages.ts'

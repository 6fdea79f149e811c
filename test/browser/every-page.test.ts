// Every page of a visitor and of an account, one gateway and one browser for all of them.
import './pages/every-page.ts'
import './pages/docs.ts'
